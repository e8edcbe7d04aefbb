const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The parts of Go's reference time, longest first, so that `2006` is not read as `2` and `006`. */
const PARTS = /January|Monday|2006|Jan|Mon|MST|Z07:00|-07:00|-0700|01|02|03|04|05|06|15|PM|pm|_2|1|2|3|4|5/g;

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

function part(name: string, date: Date): string {
  const hour = date.getUTCHours();
  switch (name) {
    case '2006':
      return String(date.getUTCFullYear()).padStart(4, '0');
    case '06':
      return pad(date.getUTCFullYear() % 100);
    case 'January':
      return MONTHS[date.getUTCMonth()] ?? '';
    case 'Jan':
      return (MONTHS[date.getUTCMonth()] ?? '').slice(0, 3);
    case '01':
      return pad(date.getUTCMonth() + 1);
    case '1':
      return String(date.getUTCMonth() + 1);
    case 'Monday':
      return DAYS[date.getUTCDay()] ?? '';
    case 'Mon':
      return (DAYS[date.getUTCDay()] ?? '').slice(0, 3);
    case '02':
      return pad(date.getUTCDate());
    case '_2':
      return String(date.getUTCDate()).padStart(2, ' ');
    case '2':
      return String(date.getUTCDate());
    case '15':
      return pad(hour);
    case '03':
      return pad(hour % 12 === 0 ? 12 : hour % 12);
    case '3':
      return String(hour % 12 === 0 ? 12 : hour % 12);
    case '04':
      return pad(date.getUTCMinutes());
    case '4':
      return String(date.getUTCMinutes());
    case '05':
      return pad(date.getUTCSeconds());
    case '5':
      return String(date.getUTCSeconds());
    case 'PM':
      return hour < 12 ? 'AM' : 'PM';
    case 'pm':
      return hour < 12 ? 'am' : 'pm';
    case 'MST':
      return 'UTC';
    case 'Z07:00':
      return 'Z';
    case '-07:00':
      return '+00:00';
    default:
      return '+0000';
  }
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Writes an ISO 8601 time in a layout of Go, in UTC; a time without zone is taken as UTC.
 *
 * @throws an Error for text that is no such time.
 * @see https://pkg.go.dev/time#Layout
 */
export function formatGoDate(layout: string, text: string): string {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) && text.length > 10;
  const date = ISO.test(text)
    ? new Date(hasZone || text.length <= 10 ? text : `${text.replace(' ', 'T')}Z`)
    : new Date(Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw new Error(`${JSON.stringify(text.slice(0, 50))} is no ISO 8601 time such as 2026-08-21T10:00:00Z`);
  return layout.replace(PARTS, (name) => part(name, date));
}
