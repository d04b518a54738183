// How often a worker does what, and when it counts as dead, milliseconds.

/** Between two heartbeats. */
export const BEAT_MS = 500;
/** Between two looks at the other workers. */
export const TICK_MS = 500;
/** Between two looks for what other processes stored: after one that brought something, and twice as long each time that none did. */
export const POLL_MS = { busy: 5, idle: 50 };
/** After the server failed. */
export const TRY_AGAIN_MS = 1_000;
/** Until a row may be free that a transaction of the application holds. */
export const PAUSE_MS = 100;
/** What needs a locked table that others do not need is refused at once for so long: each try holds up all that comes behind it. */
export const LOOK_AGAIN_MS = 5_000;
/** A worker that did not commit for so long is taken over. */
export const DEFAULT_LEASE_MS = 5_000;
/** How long the heart of a process whose connection is gone must stand still: two beats and a half. */
export const DEFAULT_GONE_MS = 1_250;
/** Of the lease: from then on what runs is to abort. */
export const OVER = 0.8;
/** The same, of the time after which others take over from a process whose connection is gone. One beat may be late. */
export const OVER_GONE = 0.6;
