// Small helpers of the type tests: nothing of them runs.

/** True for types that are the same to the last modifier; for an intersection and the object it makes see {@link Flat}. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- two generic functions are how types are compared
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles for `true` alone. */
export type Expect<T extends true> = T;

/** An intersection as one object, each member of a union for itself. */
export type Flat<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

/** True where a value of one type may stand for the other. */
export type Fits<From, To> = [From] extends [To] ? true : false;
