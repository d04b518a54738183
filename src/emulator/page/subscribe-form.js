import { post } from "./api.js";
import { byId, fold, setOptions, setText } from "../../page/dom.js";
import { toCurl } from "../../page/format.js";

/** @typedef {import("./api.js").State} State */

/**
 * Subscribes, by a form, or by a command that the form's empty list shows.
 *
 * @param {{ act: (run: () => Promise<string>, onError?: (message: string) => void) => Promise<void> }} page
 */
export function createSubscribeForm({ act }) {
  const form = byId("subscribe-form");
  const { account, resource, path, url } = form.elements;
  const error = byId("subscribe-error");
  let hadNone = false;
  let isAsking = false;

  resource.addEventListener("change", () => {
    path.parentElement.hidden = resource.value !== "";
    path.required = resource.value === "";
  });
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isAsking) return;
    isAsking = true;
    setText(error, "");
    void act(subscribe, (message) => setText(error, message)).then(() => (isAsking = false));
  });

  async function subscribe() {
    const { id } = await post("/emulator/subscriptions", {
      accountId: Number(account.value),
      resource: resource.value || path.value,
      notificationUrl: url.value,
    });
    fold(byId("subscribe"));
    return `Subscription ${id} is there: the receiver answered the handshake.`;
  }

  return {
    /** @param {State} state */
    show({ accounts, subscriptions }) {
      setOptions(
        account,
        accounts.map(({ accountId, name }) => ({ value: String(accountId), label: `${accountId} ${name}` })),
      );
      const hasNone = accounts.length > 0 && subscriptions.length === 0;
      if (hasNone && !hadNone) byId("subscribe").open = true;
      hadNone = hasNone;
      byId("no-subscriptions").hidden = subscriptions.length > 0;
      byId("curl").hidden = !hasNone;
      byId("subscribe").hidden = accounts.length === 0;
      setText(
        byId("no-subscriptions-text"),
        hasNone
          ? "There is no subscription yet. Start your receiver with the secret above, then subscribe here or with this command:"
          : "There is no subscription yet. Open an account first.",
      );
      const [first] = accounts;
      if (first !== undefined) setText(byId("curl-line"), subscribeCommand(first.token, url.value));
    },
  };
}

/**
 * @param {string} token
 * @param {string} notificationUrl
 */
function subscribeCommand(token, notificationUrl) {
  return toCurl({
    url: `${location.origin}/v1/subscriptions`,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ resource: "/email/messages", notificationUrl }),
  });
}
