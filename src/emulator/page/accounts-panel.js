import { post } from "./api.js";
import { byId, copyOf, fold, keyedList, setText } from "../../page/dom.js";

/** @typedef {import("./api.js").AccountState} AccountState */
/** @typedef {import("./api.js").State} State */

/**
 * The accounts, and what happens to them.
 *
 * @param {{ act: (run: () => Promise<string>) => Promise<void>, copy: (text: string, what: string) => void }} page
 */
export function createAccountsPanel({ act, copy }) {
  /** @type {State | undefined} */
  let latest;
  const form = byId("account-form");
  const showAll = keyedList({ list: byId("accounts"), keyOf: ({ token }) => token, create });

  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const filled = [...new FormData(form)].filter(([, value]) => value !== "");
    void act(async () => {
      const { accountId } = await post("/emulator/accounts", Object.fromEntries(filled));
      form.reset();
      fold(byId("open-account"));
      return `Account ${accountId} is open.`;
    });
  });

  /** @param {AccountState} account */
  function create({ accountId, token }) {
    const { root, part } = copyOf("account-template");
    const heading = part("accountId").parentElement;
    heading.id = `account-${accountId}`;
    root.firstElementChild.setAttribute("aria-labelledby", heading.id);
    let hasAccess = true;
    part("copy").addEventListener("click", () => copy(token, `the token of account ${accountId}`));
    part("mail").addEventListener("click", () => {
      void act(async () => {
        await post(`/emulator/accounts/${accountId}/mail`);
        return `A mail arrived at account ${accountId}. ${whoHears(accountId)}`;
      });
    });
    part("credentials").addEventListener("click", () => {
      const valid = !hasAccess;
      void act(async () => {
        await post(`/emulator/accounts/${accountId}/credentials`, { valid });
        return valid ? `The service has access to account ${accountId} again.` : `The access to ${accountId} is lost.`;
      });
    });
    return {
      root,
      /** @param {AccountState} account */
      show(account) {
        ({ hasAccess } = account);
        for (const name of /** @type {const} */ (["accountId", "name", "email", "token"]))
          setText(part(name), account[name]);
        setText(part("access"), hasAccess ? "has access" : "access lost");
        part("access").dataset.kind = hasAccess ? "good" : "bad";
        setText(part("credentials"), hasAccess ? "Expire credentials" : "Restore credentials");
      },
    };
  }

  /** @param {number} accountId */
  function whoHears(accountId) {
    const account = latest?.accounts.find((one) => one.accountId === accountId);
    if (account?.hasAccess === false) return "The service cannot see it: its access is lost.";
    const watching = latest?.subscriptions.filter(
      (one) => one.accountId === accountId && one.resource === "/email/messages",
    );
    return watching?.length === 0 ? "No subscription of this account watches /email/messages." : "";
  }

  return {
    /** @param {State} state */
    show(state) {
      if (state.accounts.length === 0 && latest?.accounts.length !== 0) byId("open-account").open = true;
      latest = state;
      byId("no-accounts").hidden = state.accounts.length > 0;
      showAll(state.accounts);
    },
  };
}
