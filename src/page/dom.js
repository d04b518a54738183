/**
 * The element with this id, which the page has.
 *
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element with the id ${id}.`);
  return element;
}

/**
 * A copy of what is in a template, and a function that finds its parts by `data-part`.
 *
 * @param {string} id
 * @returns {{ root: any, part: (name: string) => any }}
 */
export function copyOf(id) {
  const root = byId(id).content.firstElementChild.cloneNode(true);
  return {
    root,
    part(name) {
      const found = root.querySelector(`[data-part="${name}"]`);
      if (found === null) throw new Error(`The template ${id} has no part ${name}.`);
      return found;
    },
  };
}

/**
 * Writes a text, if it is another one: what did not change keeps its selection, and is not read aloud again.
 *
 * @param {Element} element
 * @param {unknown} text
 */
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/**
 * An element with these properties, and what is in it.
 *
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string)} children
 */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/**
 * Writes names and values, such as headers.
 *
 * @param {HTMLElement} list a `dl`
 * @param {Record<string, string>} pairs
 */
export function fillPairs(list, pairs) {
  for (const [name, value] of Object.entries(pairs)) {
    list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }
}

/**
 * A list whose elements stay the same while their items change, so that focus and half-filled forms stay.
 *
 * @template T
 * @param {{ list: Element, keyOf: (item: T) => unknown, create: (item: T) => { root: Element, show: (item: T) => void } }} how
 * @returns {(items: readonly T[]) => void}
 */
export function keyedList({ list, keyOf, create }) {
  /** @type {Map<unknown, { root: Element, show: (item: T) => void }>} */
  const shown = new Map();
  return (items) => {
    const keys = new Set(items.map(keyOf));
    for (const [key, { root }] of shown) {
      if (keys.has(key)) continue;
      root.remove();
      shown.delete(key);
    }
    for (const [place, item] of items.entries()) {
      const key = keyOf(item);
      const one = shown.get(key) ?? create(item);
      // In the order of the items. What stands at its place stays there, with its focus.
      const there = list.children[place];
      if (there !== one.root) list.insertBefore(one.root, there ?? null);
      shown.set(key, one);
      one.show(item);
    }
  };
}

/**
 * Closes what a form is in. The focus, which was in the form, goes to what opens it again.
 *
 * @param {HTMLDetailsElement} details
 */
export function fold(details) {
  details.open = false;
  details.querySelector("summary")?.focus();
}

/**
 * Gives a select these options, and keeps what is chosen.
 *
 * @param {HTMLSelectElement} select
 * @param {readonly { value: string, label: string }[]} options
 */
export function setOptions(select, options) {
  const now = [...select.options].map(({ value, label }) => `${value} ${label}`).join("\n");
  if (now === options.map(({ value, label }) => `${value} ${label}`).join("\n")) return;
  const { value: chosen } = select;
  select.replaceChildren(...options.map(({ value, label }) => new Option(label, value)));
  if (options.some(({ value }) => value === chosen)) select.value = chosen;
}
