export { openFaultProxy } from './fault-proxy.js';
export type { Fault, FaultProxy } from './fault-proxy.js';
export { garbageBodies, oddBodies, smuggledBodies } from './hostile-bodies.js';
export type { HostileBody } from './hostile-bodies.js';
export {
  brokenRequests,
  departIn,
  departures,
  getText,
  guessSessions,
  openHalfRequests,
  openManyGets,
  openSlowReader,
  pipeline,
  sendBytes,
  sendEndlessBody,
} from './hostile-clients.js';
export type { Departure, HostileBytes } from './hostile-clients.js';
export { hostileServer, hostileServerInShell, hostileServerPath, losslessResult } from './hostile-server.js';
export type { Command, CrashPoint, HostileScript } from './hostile-server.js';
export { readJournal } from './journal.js';
export type { JournalEntry } from './journal.js';
export { openSession, readAll, send } from './mcp-session.js';
export type { McpSession, OpenResponse, ReadResponse, RpcMessage, SendOptions, SessionOptions } from './mcp-session.js';
export { answerRounds, askModern, modernRequest, openModern, textOf } from './modern-client.js';
export type { ModernOptions, ModernParams, Round, Rounds } from './modern-client.js';
export { modernServer, modernServerPath } from './modern-server.js';
export type { ModernScript, ModernStatistics } from './modern-server.js';
export { eraClients, officialClients } from './official-clients.js';
export type { OfficialClient, Person } from './official-clients.js';
export {
  cpuNanoseconds,
  descendants,
  isAlive,
  processGroup,
  processes,
  processesNaming,
  rssBytes,
} from './processes.js';
export type { ProcessRow } from './processes.js';
export { openRawConnection, postText, targetOf } from './raw-connection.js';
export type { RawConnection, RawHead, RawResponse, Target } from './raw-connection.js';
export { openRoundRobin } from './round-robin.js';
export type { RoundRobin } from './round-robin.js';
export { createSseReader } from './sse-reader.js';
export type { SseEvent, SseReader } from './sse-reader.js';
export { openTemporaryHome, withTemporaryHome } from './temporary-home.js';
export type { TemporaryHome } from './temporary-home.js';
export { until, within } from './wait.js';
