import { fileURLToPath } from 'node:url';
import type { Command } from './hostile-server.js';

/** How the Modern server is started. */
export interface ModernScript {
  /** Key of its request state; several processes with one key take each other's state. */
  readonly key?: string;
  /** A file to which every process of the server appends a line for each message that it receives. */
  readonly journal?: string;
  /** Serves Legacy clients too, a process for one era at a time. */
  readonly legacy?: boolean;
}

/** What the tool `stats` of the Modern server tells. */
export interface ModernStatistics {
  readonly pid: number;
  /** Messages received, by method. */
  readonly received: Readonly<Record<string, number>>;
  /** Calls received, by tool. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many flows of `rounds` came to their end. */
  readonly effects: number;
  /** How many calls of `slow` were cancelled. */
  readonly cancelled: number;
  /** Parameters of the last call of another tool. */
  readonly last?: Readonly<Record<string, unknown>>;
}

/** The program file of the Modern server. */
export const modernServerPath: string = fileURLToPath(new URL('./children/modern-server.mjs', import.meta.url));

/** The command that starts a stdio server of 2026-07-28 made with the official SDK. */
export function modernServer(script: ModernScript = {}): Command {
  return { command: process.execPath, args: [modernServerPath, JSON.stringify(script)] };
}
