/** Node 22 warns of its SQLite as soon as it is loaded, in each thread: there is nothing that a user could do. To be called before. */
export function hideSqliteWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) emitWarning.call(process, warning, ...rest);
  };
}
