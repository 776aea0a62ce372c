// Pings for connections that have been quiet, and the end of those that do not even answer them.

import type { Clock } from '../base/clock.ts';

const LOOK_MS = 5_000;
export const PING_MS = 20_000;
export const DEAD_MS = 45_000;

export interface Pulse {
  /** Bytes that have arrived so far: any of them is a sign of life. */
  bytesRead(): number;
  /** True while we do not read, or pings wait behind data that is not taken: silence proves nothing then. */
  isExcused(): boolean;
  ping(): void;
  /** Nothing has arrived for `DEAD_MS`. */
  dead(): void;
}

interface Patient {
  readonly pulse: Pulse;
  bytesRead: number;
  heardAt: number;
  pingedAt: number;
}

/** One timer for all connections of a listener; it runs only while there are some. */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #patients = new Set<Patient>();
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The returned function ends the watching. */
  watch(pulse: Pulse): () => void {
    const now = this.#clock.elapsed();
    const patient = { pulse, bytesRead: pulse.bytesRead(), heardAt: now, pingedAt: now };
    this.#patients.add(patient);
    if (!this.#isRunning) this.#schedule();
    return () => {
      this.#patients.delete(patient);
    };
  }

  #schedule(): void {
    this.#isRunning = true;
    this.#clock.timer(LOOK_MS, () => {
      this.#isRunning = false;
      for (const patient of [...this.#patients]) this.#look(patient);
      if (this.#patients.size > 0) this.#schedule();
    });
  }

  #look(patient: Patient): void {
    const now = this.#clock.elapsed();
    const bytesRead = patient.pulse.bytesRead();
    if (bytesRead !== patient.bytesRead || patient.pulse.isExcused()) {
      patient.bytesRead = bytesRead;
      patient.heardAt = now;
    }
    if (now - patient.heardAt >= DEAD_MS) {
      this.#patients.delete(patient);
      patient.pulse.dead();
    } else if (now - patient.pingedAt >= PING_MS) {
      patient.pingedAt = now;
      patient.pulse.ping();
    }
  }
}
