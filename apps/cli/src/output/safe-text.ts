// Names and descriptions come from servers: a terminal must not obey what they contain.
const unprintable =
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text that may have several lines, without what moves the cursor or colours the terminal. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, '');
}

/** One line of text without control characters: line breaks and tabs become spaces. */
export function plain(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n\t]+\s*/g, ' '));
}
