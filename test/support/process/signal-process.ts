/** As `process.kill`, for one process that has to be there: nothing, 0 or less would mean the tests themselves and all that runs them. */
export function signalProcess(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined || !(pid > 1)) throw new Error(`${pid} is no process that may be sent ${signal}`);
  process.kill(pid, signal);
}

/** The same for a group by its leader. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined || !(leader > 1)) throw new Error(`${leader} leads no group that may be sent ${signal}`);
  process.kill(-leader, signal);
}
