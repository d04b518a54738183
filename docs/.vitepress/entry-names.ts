import { Converter, ReflectionKind, type Application } from "typedoc";
import manifest from "../../package.json" with { type: "json" };

/** Each entry of the reference has the name that it is imported by, such as `hookline/express`, in place of its source's path. */
export function load(app: Application): void {
  const names = new Map(
    Object.entries(manifest.exports).flatMap(([path, entry]) =>
      typeof entry === "string"
        ? []
        : [[entry["hookline-source"].replace(/^\.\/|(?:\/index)?\.ts$/g, ""), `hookline${path.slice(1)}`] as const],
    ),
  );
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.getReflectionsByKind(ReflectionKind.Module))
      entry.name = names.get(entry.name) ?? entry.name;
  });
}
