/** A session as it is kept: plain data, so that a store may lie outside of the process. */
export interface SessionRecord {
  /** A UUID. */
  readonly id: string;
  /** Which edge it belongs to. */
  readonly type: 'mcp' | 'sse' | 'streamable';
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** {@link principalKey} of who made it; absent where nothing authenticates. */
  readonly owner?: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Where sessions are kept. A failure of the store rejects; it is never told as "not found". */
export interface SessionStore {
  /** Keeps a new session; false when its id is in use. */
  add(session: SessionRecord): Promise<boolean>;
  /** Keeps a session in place of the one with its id, and its time begins anew; false when that is gone. */
  replace(session: SessionRecord): Promise<boolean>;
  /**
   * The session of an id and an owner, when its time is not over; the time begins anew in the same step. The owner is
   * part of the question, so that nobody keeps somebody else's session alive.
   */
  load(id: string, owner: string | undefined): Promise<SessionRecord | undefined>;
  /** Forgets a session; one that is missing is fine. */
  delete(id: string): Promise<void>;
  /** Forgets the sessions whose time is over, and answers their ids; a store that does so by itself answers none. */
  deleteExpired(): Promise<readonly string[]>;
  /** Sessions of this process whose time is not over. */
  readonly size: number;
  close(): Promise<void>;
}
