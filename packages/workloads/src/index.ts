export { createClaims } from './claim.js';
export type { Claims } from './claim.js';
export { childEnvironment, parseEnvAssignment, parseEnvFile } from './environment.js';
export type { ChildEnvironmentOptions, Environment } from './environment.js';
export { WorkloadsError } from './errors.js';
export type { WorkloadsErrorCode, WorkloadsErrorDetails } from './errors.js';
export { createGroupStore } from './groups.js';
export type { Group, GroupStore } from './groups.js';
export type { HostOptions, HostState, OpenHost, WorkloadHost } from './host.js';
export { writeText } from './json-file.js';
export { createLauncher } from './launch.js';
export type { Launched, Launcher, LauncherOptions, SupervisorReport } from './launch.js';
export { openLogFile } from './log-file.js';
export type { LogFile, LogFileOptions } from './log-file.js';
export { readLog, removeLog, tailLog } from './log-reader.js';
export type { ReadLogOptions } from './log-reader.js';
export { createWorkloadManager } from './manager.js';
export type { ListOptions, StopOptions, WorkloadManager, WorkloadManagerOptions } from './manager.js';
export { checkGroupName, checkWorkloadName, describeCommand, freeName, suggestName } from './names.js';
export { parsePackageSpec } from './package-spec.js';
export type { PackageSpec } from './package-spec.js';
export { resolvePaths } from './paths.js';
export type { Paths, ResolvePathsOptions } from './paths.js';
export { choosePort, requireFreePort } from './ports.js';
export { isAlive, systemProcesses } from './process-identity.js';
export type { ProcessIdentity, ProcessTable } from './process-identity.js';
export {
  backendEras,
  createRunConfigStore,
  defaultGroup,
  isolations,
  parseRunConfig,
  schemaVersion,
} from './run-config.js';
export type { Isolation, RunConfig, RunConfigStore, TransportType } from './run-config.js';
export { runConfigSchema } from './run-config-schema.js';
export { createStatusStore, workloadStatuses } from './status.js';
export type { StatusRecord, StatusStore, WorkloadStatus } from './status.js';
export { superviseWorkload } from './supervisor.js';
export type { SuperviseOptions, SuperviseOutcome } from './supervisor.js';
export { openWatchdog } from './watchdog.js';
export type { Watchdog, WatchdogOptions } from './watchdog.js';
export { openHttpHost } from './open-http-host.js';
export { packageOf, urlOf } from './workload.js';
export type { Workload } from './workload.js';
export { parseStateKeys } from './state-keys.js';
export type { StateKeyEntry } from './state-keys.js';
