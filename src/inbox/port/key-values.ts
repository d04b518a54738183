/** Small texts of other modules, stored beside the deliveries. */
export interface KeyValues {
  /** Undefined where there is none. */
  get(key: string): Promise<string | undefined>;
  /**
   * Durable when it resolves; undefined removes it. Where one process works at a time, only that one may: others get a StorageError
   * `epoch-stale`.
   * @param accountId whose it is, if anyone's: to erase the account removes it
   */
  set(key: string, value: string | undefined, accountId: number | undefined): Promise<void>;
}
