/**
 * Makes a matcher of a path with ids in it, such as `/calendars/{calendarId}/events`. An id is one segment and is
 * URL-decoded; slashes at the end and a query are tolerated. A malformed escape matches nothing.
 *
 * @see protocol 6.1
 */
export function pathMatcher<const Template extends string>(template: Template): PathMatcher<NamesIn<Template>> {
  const pattern = new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/?]+)")}/*(?:\\?|$)`);
  return (path) => {
    const match = pattern.exec(path);
    return match === null ? undefined : decoded(match.groups ?? {});
  };
}

/** Gives the ids in a path by their names; `undefined` for another path. */
export type PathMatcher<Name extends string> = (path: string) => Record<Name, string> | undefined;

type NamesIn<Template> = Template extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

function decoded(groups: Record<string, string>): Record<string, string> | undefined {
  const ids: Record<string, string> = {};
  try {
    for (const name of Object.keys(groups)) ids[name] = decodeURIComponent(groups[name] ?? "");
  } catch {
    return undefined;
  }
  return ids;
}
