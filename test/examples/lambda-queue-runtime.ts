// An instance of a function of AWS Lambda: it gets events of its parent, one after the other.
import { createRequire } from "node:module";

const [file = "", name = "", timeoutSeconds] = process.argv.slice(2);
const loaded = createRequire(import.meta.url)(file) as Readonly<
  Record<string, (event: object, context: object) => Promise<unknown>>
>;

process.on("message", (event: object) => {
  // Whole milliseconds, as the real one.
  const endsAt = Date.now() + Number(timeoutSeconds) * 1_000;
  const context = { getRemainingTimeInMillis: () => endsAt - Date.now() };
  void Promise.resolve(loaded[name]?.(event, context)).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
