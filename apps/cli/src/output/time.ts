/** `12 seconds ago`, `3 hours ago`; the text itself when it is no time. */
export function timeAgo(time: string, now: number): string {
  const then = Date.parse(time);
  if (Number.isNaN(then)) return time;
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const) {
    const count = Math.floor(seconds / size);
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return `${seconds} second${seconds === 1 ? '' : 's'} ago`;
}

/** `1d 2h 3m`, `2h 3m`, `3m`: how long something runs. */
export function uptime(startedAt: string, now: number): string {
  const then = Date.parse(startedAt);
  if (Number.isNaN(then)) return '';
  const minutes = Math.max(0, Math.floor((now - then) / 60_000));
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor(minutes / 60) % 24;
  const rest = `${minutes % 60}m`;
  if (days > 0) return `${days}d ${hours}h ${rest}`;
  return hours > 0 ? `${hours}h ${rest}` : rest;
}

/** `2026-12-01 14:02:11` in the local time zone. */
export function localTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
