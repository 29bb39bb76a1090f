interface Mutated {
  /** The files whose code is changed. */
  files: readonly string[]
  /** The tests that should notice. */
  tests: readonly string[]
}

const parts: Readonly<Record<string, Mutated>> = {
  ledger: {
    files: ['api/billing/ledger.ts'],
    tests: ['test/api/billing/ledger.test.ts'],
  },
  states: {
    files: ['api/servers/states.ts'],
    tests: ['api/servers/states.test.ts'],
  },
  operations: {
    files: ['store', 'operations', 'ends'].map((name) => `api/operations/${name}.ts`),
    // Recovery is not among them: its tests take a minute, and each change would pay it.
    tests: ['ends', 'engine', 'fairness', 'operations'].map((name) => `test/api/operations/${name}.test.ts`),
  },
}

/** @throws Error if there is no part of this name */
export function mutated(name: string | undefined): Mutated {
  const part = parts[name ?? '']
  if (!part) throw new Error(`Set BERTH_MUTATED to one of: ${Object.keys(parts).join(', ')}.`)
  return part
}
