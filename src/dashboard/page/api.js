/**
 * @typedef {object} Rights
 * @property {boolean} content
 * @property {boolean} change
 *
 * @typedef {{ waiting: number, dead: number, blockedLanes: number, problems: number, ready: boolean }} Counts
 *
 * @typedef {object} BegunChange
 * @property {number} id
 * @property {string} verb
 * @property {number} count
 * @property {number} [perSecond]
 * @property {string} startedAt
 * @property {string} [endedAt]
 * @property {number} [changed]
 * @property {string} [failed]
 *
 * @typedef {{ now: string, refreshMs: number, rights: Rights, counts: Counts, changes: BegunChange[] } & Record<string, any>} Answer
 *
 * @typedef {{ ids?: string[], filter?: Record<string, string>, count?: number, perSecond?: number }} AskedChange
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
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
export function get(path, signal) {
  return request(`api/${path}`, { signal });
}

/**
 * @param {string} verb
 * @param {AskedChange} asked without `count` it is only counted
 * @returns {Promise<Record<string, any>>}
 */
export function postChange(verb, asked) {
  return request(`api/${verb}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Hookline": "1" },
    body: JSON.stringify(asked),
  });
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function request(url, options) {
  const response = await fetch(url, options);
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new RefusedError(response.status, body);
  return body;
}
