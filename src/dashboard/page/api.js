/**
 * @typedef {{ content: boolean, change: boolean }} Rights
 * @typedef {{ waiting: number, dead: number, blockedLanes: number, problems: number, ready: boolean }} Counts
 * @typedef {{ verb: string, count: number, perSecond?: number, endedAt?: string, changed?: number, failed?: string }} BegunChange
 * @typedef {{ now: string, refreshMs: number, rights: Rights, counts: Counts, changes: BegunChange[] } & Record<string, any>} Answer
 */

/** What the server answered with another status than 2xx, in words. */
export class RefusedError extends Error {
  /**
   * @param {number} status
   * @param {Record<string, any>} body
   */
  constructor(status, body) {
    super(body["message"] ?? `The server answered ${status}.`);
    this.status = status;
    this.body = body;
  }
}

/**
 * URLs are relative: the page works under any path.
 *
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function request(path, options) {
  const response = await fetch(`api/${path}`, options);
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new RefusedError(response.status, body);
  return body;
}

/** @type {(path: string, signal: AbortSignal) => Promise<Answer>} */
export const get = (path, signal) => request(path, { signal });

/**
 * @param {string} verb
 * @param {{ ids?: string[], filter?: Record<string, string>, count?: number, perSecond?: number }} asked without `count` it is only counted
 */
export function postChange(verb, asked) {
  const headers = { "Content-Type": "application/json", "X-Hookline": "1" };
  return request(verb, { method: "POST", headers, body: JSON.stringify(asked) });
}
