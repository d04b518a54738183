/** Whether the connection that a statement failed on is of no more use, or in a state that is not known. */
export function isBroken(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState === undefined || CONNECTION_ENDS.test(sqlState);
}

/** Whether the server refused a value or a row of the statement, by its data, a constraint or a limit: without that it would take the rest. */
export function isRefusal(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlStateOf(error) ?? "");
}

/** Whether the server answers, and would not run this statement: without what is in it, another one may hold. */
export function isOfStatement(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState !== undefined && !CONNECTION_ENDS.test(sqlState) && !OF_THE_SERVER.test(sqlState);
}

/** Whether something of what was to be read is broken on the server's disk. */
export function isUnreadable(error: unknown): boolean {
  return /^XX00[12]$/.test(sqlStateOf(error) ?? "");
}

/**
 * Whether a file could not be read or written, or is not there, or the server failed in a way that it has no code for, as where a length in a
 * row is broken: one row may be the reason, or the disk, which may come back.
 */
export function isFileFailure(error: unknown): boolean {
  return /^(58030|58P01|XX000)$/.test(sqlStateOf(error) ?? "");
}

/** Either of these. */
export function isOfDisk(error: unknown): boolean {
  return isUnreadable(error) || isFileFailure(error);
}

/** Whether it was not run because others held what it needs: without that the rest would hold. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === "55P03";
}

/**
 * Of a statement that stopped waiting: whether the lock was on one of these tables. The server quotes the statement that waited, and those
 * around it. Not for the lock of a row, of which the server tells the place, as in `(0,1)`: that is in the way of one value.
 */
export function isLockOn(tables: readonly string[], error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly where?: string; readonly internalQuery?: string } };
  const quoted = `${cause?.internalQuery} ${cause?.where}`;
  return !/\(\d+,\d+\)/.test(quoted) && tables.some((table) => quoted.includes(`.${table} `));
}

/** Whether a table could not be read, while others may be: it is broken on the disk, takes too long, others hold a lock on it, or the role may not. */
export function isOfTable(error: unknown): boolean {
  return isPermission(error) || /^(22|55P03|57014|58030|58P01|XX)/.test(sqlStateOf(error) ?? "");
}

/** Whether the server cancelled it, such as by the role's `statement_timeout`, which also counts while a slow link takes the answer. */
export function isCancelled(error: unknown): boolean {
  return sqlStateOf(error) === "57014";
}

/** Whether the role lacks a right. */
export function isPermission(error: unknown): boolean {
  return sqlStateOf(error) === "42501";
}

/** What the server said of a statement that failed. */
export function sqlStateOf(error: unknown): string | undefined {
  return describe((error as { readonly cause?: unknown }).cause).sqlState;
}

/** The server, or a pooler in front of it, ends the connection with these; 25006: it leads to a server that takes no writes. */
const CONNECTION_ENDS = /^(08|25P0[34]|25006|57P)/;

/** Conflicts with others, resources that are short, cancelled statements, and a system that fails: no statement is at fault. A file may be. */
const OF_THE_SERVER = /^(40|53|57|58(?!030|P01))/;

/** SQLSTATEs have five characters, which codes of Node have not, but for EPIPE. */
const SQL_STATE = /^(?!EPIPE$)[0-9A-Z]{5}$/;

/** Of an error of the driver or of the server. */
export function describe(error: unknown): {
  readonly sqlState: string | undefined;
  /** The same, or that of the network. */
  readonly code: string;
  readonly detail: string;
} {
  // Of several addresses of a name, each has failed.
  const [one = error] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  const { code, message, file } = (one ?? {}) as { readonly [field in "code" | "message" | "file"]?: string };
  // A file that the server may not open is no right that the role lacks.
  const isFile = code === "42501" && /^(md|fd)\.c$/.test(file ?? "");
  const text = isFile ? "58030" : typeof code === "string" ? code : "";
  const sqlState = SQL_STATE.test(text) ? text : undefined;
  const said = message === undefined || message === "" ? String(code ?? one) : message;
  return { sqlState, code: text, detail: `PostgreSQL: ${said}${sqlState === undefined ? "" : ` (${code})`}.` };
}
