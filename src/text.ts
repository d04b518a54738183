/** The first characters of a text. Not half of a surrogate pair at its end, which no database stores. */
export function cutText(text: string, mostCharacters: number): string {
  return text.length <= mostCharacters ? text : text.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/, "");
}
