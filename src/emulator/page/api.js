/**
 * @typedef {object} AccountState
 * @property {number} accountId
 * @property {string} name
 * @property {string} email
 * @property {string} token
 * @property {boolean} hasAccess
 *
 * @typedef {object} SubscriptionState
 * @property {number} id
 * @property {number} accountId
 * @property {string} resource
 * @property {string} notificationUrl
 * @property {boolean} active
 * @property {string} [failSince]
 * @property {string} [failDescription]
 * @property {number} waiting
 * @property {string} [nextAttemptAt]
 * @property {string} [fault]
 *
 * @typedef {object} State What GET /emulator/state answers.
 * @property {string} now
 * @property {boolean} isVirtual
 * @property {string} secret
 * @property {number} attempts
 * @property {AccountState[]} accounts
 * @property {SubscriptionState[]} subscriptions
 *
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers
 * @property {string} body
 *
 * @typedef {object} Attempt
 * @property {number} subscription
 * @property {number} delivery
 * @property {number} attempt
 * @property {string} at
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string} body
 * @property {number} [status]
 * @property {Answer} [answer]
 * @property {string} [failure]
 * @property {string} [fault]
 * @property {string} outcome
 * @property {string} [nextAttemptAt]
 * @property {number} durationMs
 */

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, signal) {
  return request(path, { signal: signal ?? null });
}

/**
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export function post(path, body = {}) {
  return request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/**
 * Ends a subscription as its account does.
 *
 * @param {number} id
 * @param {string} token
 */
export function unsubscribe(id, token) {
  return request(`/v1/subscriptions/${id}`, { method: "DELETE", headers: { Authorization: `Bearer ${token}` } });
}

/**
 * Asks the emulator. An error's message is for a person.
 *
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function request(path, options) {
  const { response, text } = await exchange(path, options);
  const answer = text === "" ? {} : parsed(text);
  if (response.ok && answer !== undefined) return answer;
  throw new Error(answer?.message ?? `${location.origin} answered ${response.status}: is another server on this port?`);
}

/**
 * Sends a request, and gives whatever is answered.
 *
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<{ response: Response, text: string }>}
 */
export async function exchange(path, options) {
  // Outside: what is no request is not the emulator's fault.
  const sent = new Request(path, options);
  try {
    const response = await fetch(sent);
    return { response, text: await response.text() };
  } catch (error) {
    throw new Error(`The emulator does not answer at ${location.origin}. Is it running?`, { cause: error });
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
