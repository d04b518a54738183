import { get } from "../api.js";
import { copyOf, setOptions } from "../../../page/dom.js";

/** @typedef {import("./api-document.js").Scheme} Scheme */
/** @typedef {import("../api.js").State} State */

/** With what requests are sent: chosen once, for the forms of all operations. */
export function createCredentials() {
  /** @type {State["accounts"]} */
  let accounts = [];
  /** @type {string | undefined} the token of an account, empty for none; the first account's until one is chosen */
  let chosen;
  let user = "";
  let password = "X";
  /** @type {(() => void)[]} each shows in one form what holds now */
  const views = [];

  function showAll() {
    if (accounts.every(({ token }) => token !== chosen) && chosen !== "") chosen = undefined;
    for (const show of views) show();
  }

  /**
   * @param {() => void} show
   * @param {() => void} onChange
   */
  function addView(show, onChange) {
    show();
    views.push(() => {
      show();
      onChange();
    });
  }

  const token = () => chosen ?? accounts[0]?.token ?? "";

  /** @param {() => void} onChange */
  function createChoice(onChange) {
    const { root, part } = copyOf("account-template");
    const show = () => {
      const options = accounts.map((account) => ({
        value: account.token,
        label: `${account.accountId} ${account.name}`,
      }));
      setOptions(part("account"), [...options, { value: "", label: "none: without a token" }]);
      part("account").value = token();
      part("none").hidden = accounts.length > 0;
    };
    addView(show, onChange);
    part("account").addEventListener("change", () => {
      chosen = part("account").value;
      showAll();
    });
    return { root, authorization: () => (token() === "" ? undefined : `Bearer ${token()}`) };
  }

  /** @param {() => void} onChange */
  function createUser(onChange) {
    const { root, part } = copyOf("user-template");
    const show = () => {
      part("user").value = user;
      part("password").value = password;
    };
    addView(show, onChange);
    root.addEventListener("input", () => {
      user = part("user").value;
      password = part("password").value;
      showAll();
    });
    return { root, authorization: () => `Basic ${toBase64(`${user}:${password}`)}` };
  }

  return {
    /** Shows the accounts that there are now. */
    async refresh() {
      ({ accounts } = /** @type {State} */ (await get("/emulator/state")));
      showAll();
    },
    /**
     * The fields of one form, and the header that they give.
     *
     * @param {Scheme} auth
     * @param {() => void} onChange what is chosen in one form holds in all
     * @returns {{ root: HTMLElement, authorization: () => string | undefined }}
     */
    create: (auth, onChange) => (auth.scheme === "bearer" ? createChoice : createUser)(onChange),
  };
}

/** @param {string} text */
function toBase64(text) {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}
