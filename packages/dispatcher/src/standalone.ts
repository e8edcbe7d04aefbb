import type { EventLog, EventReceiver, LoggedStream } from './event-log.js';
import type { ClientSession } from './sessions.js';
import type { ServerStream, StreamSink } from './streams.js';

/**
 * Gives a session its standalone stream, or continues the stream that `lastEventId` names. Answers whether the session
 * now has a new standalone stream.
 */
export function openStandalone(
  session: ClientSession,
  sink: StreamSink,
  lastEventId: string | undefined,
  options: { readonly log: EventLog | undefined; readonly createStream: () => ServerStream },
): boolean {
  const { log, createStream } = options;
  if (log === undefined) {
    replace(session, createStream());
    return true;
  }
  if (lastEventId !== undefined) {
    const found = log.find(lastEventId);
    if ('stream' in found) {
      if (found.stream.kind === 'post') resumePost(found.stream, found.seq, sink);
      else resumeStandalone(session, found.stream, found.seq, createStream());
      if (found.stream.kind === 'get') waitWhenGone(sink, found.stream, log);
      return found.stream.kind === 'get';
    }
    if (found.kind === 'post') {
      // The answer is lost. An empty stream lets the client fail that request now instead of waiting for its timeout.
      sink.end();
      return false;
    }
  }
  const stream = createStream();
  replace(session, stream);
  const logged = log.open('get', receiverOf(stream));
  sink.prime?.(logged.primeId, log.settings.retryMs);
  waitWhenGone(sink, logged, log);
  return true;
}

function replace(session: ClientSession, stream: ServerStream): void {
  const earlier = session.stream;
  session.stream = stream;
  earlier?.end();
}

function resumeStandalone(session: ClientSession, logged: LoggedStream, seq: number, stream: ServerStream): void {
  replace(session, stream);
  logged.attach(receiverOf(stream), seq);
}

function resumePost(logged: LoggedStream, seq: number, sink: StreamSink): void {
  const receiver: EventReceiver = {
    send: (message, eventId) => void sink.send(message, eventId),
    end: () => sink.end(),
  };
  sink.onGone = () => logged.detach(receiver);
  logged.attach(receiver, seq);
}

/** New messages reach a standalone stream through its session, so the log only replays here. */
const receiverOf = (stream: ServerStream): EventReceiver => ({
  send: (message, eventId) => stream.send(message, { eventId, keep: true }),
  end: () => undefined,
});

function waitWhenGone(sink: StreamSink, logged: LoggedStream, log: EventLog): void {
  sink.onGone = () => log.expireLater(logged);
}
