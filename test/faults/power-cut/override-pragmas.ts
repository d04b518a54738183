import { DatabaseSync } from "node:sqlite";

// Loaded before a receiver: SQLite gets other pragma values than the receiver sets, and reads return the values that it set.
// HOOKLINE_PRAGMAS is a list such as `synchronous=1,wal_autocheckpoint=100`.
const wanted = new Map(
  (process.env["HOOKLINE_PRAGMAS"] ?? "")
    .split(",")
    .filter(Boolean)
    .map((one) => one.split("=") as [string, string]),
);
const asked = new Map<string, string>();
const { exec, prepare } = DatabaseSync.prototype;

DatabaseSync.prototype.exec = function swap(sql) {
  exec.call(
    this,
    sql.replaceAll(/PRAGMA (\w+) = (\w+)/g, (whole, name: string, value: string) => {
      const other = wanted.get(name);
      if (other === undefined) return whole;
      asked.set(name, value);
      return `PRAGMA ${name} = ${other}`;
    }),
  );
};

DatabaseSync.prototype.prepare = function pretend(sql, ...rest) {
  const name = /^PRAGMA (\w+)$/.exec(sql)?.[1];
  const answer = name === undefined ? undefined : asked.get(name);
  return prepare.call(this, answer === undefined ? sql : `SELECT ${answer}`, ...rest);
};
