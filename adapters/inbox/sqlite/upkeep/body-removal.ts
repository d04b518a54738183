import type { DatabaseSync } from "node:sqlite";
import { isKey, rowsOf } from "../schema/columns.ts";
import { IDS, type NeededDeliveries } from "./needed-deliveries.ts";

/** What stands for the headers of a delivery whose body was removed: all others have at least the signed ones. */
export const REMOVED = "[]";

/** Removing the bodies of deliveries whose jobs are all done or skipped. The rest of the row stays until it has had its time. */
export interface BodyRemoval {
  /** A job ended, or was removed. */
  ended(delivery: number): void;
  /** Some bodies. @returns whether there may be more */
  removeBodies(turn: BodyTurn): boolean;
  /** A transaction was rolled back. */
  undo(): void;
}

/** `anew`: another process may have worked on the file since. `pass`: the first step of a pass. */
export type BodyTurn = "anew" | "pass" | "on";

/** In one step: rows, and bytes of bodies. A row that alone is larger goes all the same. */
const DELIVERIES = 256;
const BYTES = 512 * 1024;
/** Of what ended in mixed order, those whose ids are so near are looked at together, and so many groups in one step. */
const NEAR = 1_000;
const GROUPS = 64;

export function createBodyRemoval(db: DatabaseSync, needed: NeededDeliveries): BodyRemoval {
  const sql = {
    unexpanded: db.prepare("SELECT min(delivery) AS id FROM unexpanded"),
    newest: db.prepare(`SELECT max(id) AS id FROM delivery WHERE ${isKey("id")}`),
    page: db.prepare(
      `SELECT id, length(body) AS bytes FROM delivery WHERE id > ? AND id <= ? AND headers <> '${REMOVED}' ORDER BY id LIMIT ${DELIVERIES}`,
    ),
    remove: db.prepare(
      `UPDATE delivery SET headers = '${REMOVED}', body = x'' WHERE id = ? AND headers <> '${REMOVED}'`,
    ),
  };
  let isOn = false;
  /** All up to this one were looked at. What was needed then is looked at again when the job ends that needed it. */
  let after = 0;
  /** The newest when the pass began. Those that come during it are still needed, mostly: the next one looks at them. */
  let until = 0;
  const again = new Set<number>();
  /** Taken from `again`, the lowest last. */
  let sorted: number[] = [];
  /** A job of them runs that has no row. */
  const later = new Set<number>();

  function removeOf(ids: readonly number[]): void {
    const [first, last] = [Math.min(...ids), Math.max(...ids)];
    const byRows = needed.byRows(first, last);
    const byRunning = needed.byRunning(first, last);
    for (const id of ids)
      if (byRunning.has(id)) later.add(id);
      else if (!byRows.has(id)) sql.remove.run(id);
  }

  /** New ones, in the order of ids. Expansion follows that too, so that one which is not expanded holds up nothing that is. */
  function lookOn(): boolean {
    const end = Math.min(after + IDS, until, Number(sql.unexpanded.get()?.["id"] ?? Infinity) - 1);
    if (end <= after) return false;
    const page: number[] = [];
    let bytes = 0;
    let isCut = false;
    for (const row of rowsOf<{ id: number; bytes: number }>(sql.page, after, end)) {
      bytes += row.bytes;
      isCut = page.length > 0 && bytes > BYTES;
      if (isCut) break;
      page.push(row.id);
    }
    if (page.length > 0) removeOf(page);
    after = isCut || page.length === DELIVERIES ? (page.at(-1) ?? end) : end;
    return true;
  }

  function lookAgain(): boolean {
    if (sorted.length === 0) {
      sorted = [...again].toSorted((a, b) => b - a);
      again.clear();
    }
    for (let groups = 0, left = DELIVERIES; groups < GROUPS && left > 0 && sorted.length > 0; groups += 1) {
      const end = (sorted.at(-1) ?? 0) + NEAR;
      const group: number[] = [];
      for (let id = sorted.at(-1); id !== undefined && id < end && left > 0; id = sorted.at(-1), left -= 1)
        group.push(sorted.pop() ?? id);
      removeOf(group);
    }
    return sorted.length > 0 || again.size > 0;
  }

  return {
    ended(delivery) {
      if (isOn && delivery <= after) again.add(delivery);
    },
    removeBodies(turn) {
      if (turn === "anew" || !isOn) {
        after = 0;
        again.clear();
        sorted = [];
        later.clear();
      }
      if (turn !== "on" || !isOn) until = Number(sql.newest.get()?.["id"] ?? 0);
      isOn = true;
      if (turn === "pass") {
        for (const id of later) again.add(id);
        later.clear();
      }
      return [lookAgain(), lookOn()].includes(true);
    },
    undo() {
      isOn = false;
    },
  };
}
