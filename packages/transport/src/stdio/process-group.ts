/** Sends a signal to a child and everything it started; false when nothing of it is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    // A negative number names the process group; Windows has none, and ends a tree with its root.
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
    return true;
  } catch (error) {
    // EPERM: something is left that changed its user, which we can see but not end.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
