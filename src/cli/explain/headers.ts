/** Header lines as they come, gathered by name in lower case. */
export interface HeaderLines {
  add(name: string, value: string): void;
  all(): Readonly<Record<string, readonly string[]>>;
  get(lowerCaseName: string): string | undefined;
}

export function createHeaderLines(): HeaderLines {
  const lines = new Map<string, string[]>();
  return {
    add(name, value) {
      const key = name.trim().toLowerCase();
      const values = lines.get(key);
      if (values === undefined) lines.set(key, [value.trim()]);
      else values.push(value.trim());
    },
    all: () => Object.fromEntries(lines),
    get: (name) => lines.get(name)?.[0],
  };
}
