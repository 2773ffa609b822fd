// Talks to the server, and to nothing else. One function per way of asking; the shapes are in types.ts.

export type Query = Record<string, string | number | boolean | null | undefined>;

const TOKEN = "rl-insight-token";

/** What the server refused, or that it did not answer (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

/** A link with `?token=` hands the token over once; it leaves the address bar so that it is not shared by accident. */
export function takeTokenFromAddress(): void {
  const url = new URL(window.location.href);
  const token = url.searchParams.get("token");
  if (!token) return;
  setToken(token);
  url.searchParams.delete("token");
  window.history.replaceState(null, "", url);
}

export function setToken(token: string): void {
  try {
    sessionStorage.setItem(TOKEN, token);
  } catch {
    // Storage may be forbidden; the cookie that the server set still opens the door.
  }
}

function headers(): HeadersInit {
  let token: string | null = null;
  try {
    token = sessionStorage.getItem(TOKEN);
  } catch {
    token = null;
  }
  return token ? { Authorization: `Bearer ${token}` } : {};
}

export function path(template: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return `${template}${text ? `?${text}` : ""}`;
}

export async function get<T>(where: string, signal?: AbortSignal): Promise<T> {
  return request<T>(where, { signal: signal ?? null });
}

export async function post<T>(where: string, body: unknown): Promise<T> {
  return request<T>(where, { method: "POST", body: JSON.stringify(body) });
}

/** An answer that does not end; for the live stream. */
export async function stream(where: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await ask(where, { signal });
  if (!response.body) throw new ApiError(0, "the server sent no stream");
  return response.body;
}

async function request<T>(where: string, init: RequestInit): Promise<T> {
  const response = await ask(where, init);
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(response.status, "the server's answer was cut off or is not JSON");
  }
}

async function ask(where: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${where}`, { ...init, headers: headers(), credentials: "same-origin" });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, "the server does not answer");
  }
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    const body = (await response.json()) as { error?: string };
    message = body.error ?? message;
  } catch {
    // Not ours: a proxy in between, perhaps. Its status is all there is to tell.
  }
  throw new ApiError(response.status, message);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
