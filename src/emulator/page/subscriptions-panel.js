import { post, unsubscribe } from "./api.js";
import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { toCount, toSpan, toTime } from "../../page/format.js";

/** @typedef {import("./api.js").SubscriptionState} SubscriptionState */
/** @typedef {import("./api.js").State} State */

/**
 * The subscriptions, and what their deliveries suffer.
 *
 * @param {{ act: (run: () => Promise<string>) => Promise<void> }} page
 */
export function createSubscriptionsPanel({ act }) {
  /** @type {State | undefined} */
  let latest;
  const showAll = keyedList({
    list: byId("subscriptions"),
    keyOf: ({ id, accountId, resource, notificationUrl }) => [id, accountId, resource, notificationUrl].join(" "),
    create,
  });

  /** @param {SubscriptionState} subscription */
  function create({ id, accountId, resource, notificationUrl }) {
    const { root, part } = copyOf("subscription-template");
    setText(part("id"), id);
    setText(part("resource"), resource);
    setText(part("accountId"), accountId);
    setText(part("notificationUrl"), notificationUrl);
    const heading = part("id").parentElement;
    heading.id = `subscription-${id}`;
    root.firstElementChild.setAttribute("aria-labelledby", heading.id);
    part("emit").addEventListener("click", () => {
      void act(async () => {
        await post(`/emulator/subscriptions/${id}/emit`);
        return `An entry for subscription ${id} is on its way.`;
      });
    });
    part("unsubscribe").addEventListener("click", () => {
      const token = latest?.accounts.find((account) => account.accountId === accountId)?.token ?? "";
      void act(async () => {
        await unsubscribe(id, token);
        // The button that has the focus goes.
        byId("subscriptions-heading").focus();
        return `Subscription ${id} is gone.`;
      });
    });
    createFaultForm({ id, part, act });
    return {
      root,
      /** @param {SubscriptionState} subscription */
      show: (subscription) => showSubscription(part, subscription, latest?.now ?? ""),
    };
  }

  return {
    /** @param {State} state */
    show(state) {
      latest = state;
      showAll(state.subscriptions);
    },
  };
}

/**
 * @param {(name: string) => any} part
 * @param {SubscriptionState} subscription
 * @param {string} now
 */
function showSubscription(part, { active, failSince, failDescription, waiting, nextAttemptAt, fault }, now) {
  setText(part("state"), active ? "active" : "errored");
  part("state").dataset.kind = active ? "good" : "bad";
  part("error").hidden = active;
  if (failSince !== undefined) setText(part("error"), `${failDescription}, since ${toTime(failSince)}`);
  setText(part("waiting"), waiting === 0 ? "none" : toCount(waiting, "delivery", "deliveries"));
  part("next").dateTime = nextAttemptAt ?? "";
  part("next").title = nextAttemptAt ?? "";
  setText(part("next"), nextAttemptIn(waiting, nextAttemptAt, now));
  setText(part("fault"), fault ?? "none");
  part("fault").classList.toggle("warning", fault !== undefined);
  part("recover").setAttribute("aria-disabled", String(fault === undefined));
}

/**
 * @param {number} waiting
 * @param {string | undefined} nextAttemptAt
 * @param {string} now
 */
function nextAttemptIn(waiting, nextAttemptAt, now) {
  if (waiting === 0) return "";
  if (nextAttemptAt === undefined) return ", being sent";
  return `, next in ${toSpan(Date.parse(nextAttemptAt) - Date.parse(now))}`;
}

/** @param {{ id: number, part: (name: string) => any, act: (run: () => Promise<string>) => Promise<void> }} options */
function createFaultForm({ id, part, act }) {
  const kind = part("kind");
  const number = part("number");
  kind.id = `fault-of-${id}`;
  part("kind-label").htmlFor = kind.id;

  kind.addEventListener("change", () => {
    const { unit, number: usual } = kind.selectedOptions[0].dataset;
    part("number-label").hidden = unit === undefined;
    number.required = unit !== undefined;
    if (unit === undefined) return;
    setText(part("unit"), unit);
    number.value = usual;
  });
  part("fault-form").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const fault = number.required ? { [kind.value]: number.valueAsNumber } : kind.value;
    void act(async () => {
      await post(`/emulator/subscriptions/${id}/fault`, { fault });
      return `Deliveries of subscription ${id} now fail so: ${kind.value}.`;
    });
  });
  part("recover").addEventListener("click", () => {
    void act(async () => {
      await post(`/emulator/subscriptions/${id}/fault`, { fault: null });
      return `Deliveries of subscription ${id} have no fault.`;
    });
  });
}
