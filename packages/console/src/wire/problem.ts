// The problem of a request, in the words of the server (RFC 9457), or of the browser without an answer.

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(String(body.detail ?? body.title ?? status));
    this.status = status;
    this.code = String(body.code ?? (status === 0 ? "OFFLINE" : status));
    this.hint = typeof body.hint === "string" ? body.hint : undefined;
    this.details = (body.details ?? {}) as Readonly<Record<string, unknown>>;
    this.requestId = typeof body.requestId === "string" ? body.requestId : undefined;
  }

  /** Nothing answered: the request may or may not have arrived. */
  get isOffline(): boolean {
    return this.status === 0;
  }
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, { detail: error instanceof Error ? error.message : String(error) });
}
