import fs from 'node:fs';

/** Runs once before all tests; what it returns runs after them. */
export default function removeOwnHome(): () => void {
  const home = process.env.HEDDLE_TEST_HOME;
  return () => {
    if (home) fs.rmSync(home, { recursive: true, force: true });
  };
}
