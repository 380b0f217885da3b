// How long to wait before a server that ended by itself is started again.

/** Doubles the wait with every end in a row, and gives up after too many within a while. */
export class Backoff {
  private ends: number[] = [];

  /**
   * @param limit how many ends within the window are too many
   * @param windowMs how long an end counts
   * @param firstMs the first wait; each further one is twice as long
   */
  constructor(
    private readonly limit = 5,
    private readonly windowMs = 180_000,
    private readonly firstMs = 500,
  ) {}

  /**
   * Notes an end.
   *
   * @returns milliseconds to wait, or undefined where it is time to give up
   */
  next(now: number): number | undefined {
    this.ends = this.ends.filter((end) => now - end < this.windowMs);
    this.ends.push(now);
    return this.ends.length > this.limit ? undefined : this.firstMs * 2 ** (this.ends.length - 1);
  }

  /** Forgets the past: a person has started it anew. */
  reset(): void {
    this.ends = [];
  }
}
