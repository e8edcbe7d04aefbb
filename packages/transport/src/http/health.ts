/** How an endpoint and the server behind it are. */
export interface HealthReport {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  /** How the server speaks: `stdio`, `sse`, `streamable-http`. */
  readonly transport: string;
  /** What the last look at the server found, where something looks. */
  readonly server?: {
    readonly available: boolean;
    readonly responseTimeMs?: number;
    readonly error?: string;
    readonly lastChecked: Date;
  };
}

/**
 * Status and JSON body of `GET /health`. A degraded endpoint still answers 200, since a restart would not help it.
 * Nothing tells versions or builds: the endpoint is open to everybody.
 */
export function healthResponse(
  { status, transport, server }: HealthReport,
  now: Date = new Date(),
): { readonly status: 200 | 503; readonly body: string } {
  const mcp = server && {
    available: server.available,
    response_time_ms: server.responseTimeMs,
    error: server.error,
    last_checked: server.lastChecked.toISOString(),
  };
  return {
    status: status === 'unhealthy' ? 503 : 200,
    body: JSON.stringify({ status, timestamp: now.toISOString(), transport, mcp }),
  };
}
