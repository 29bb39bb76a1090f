import { existsSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

// npm test says loudly what it leaves out where there is no QEMU, or no browser.
const has = (program: string) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)))
const hasQemu = has('qemu-system-x86_64')
const hasChromium = has('chromium')
// npm run check:clients sets it, after it has installed the tools.
const hasTools = process.env.BERTH_TEST_HCLOUD === '1'
// npm run test:cluster sets it, after it has installed what these need.
const isCluster = process.env.BERTH_TEST_CLUSTER === '1'

// Tests start the same programs hundreds of times, and vitest its workers: all inherit a cache of compiled code.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, 'node_modules/.cache/berth-tests')

export default defineConfig({
  test: {
    // Three files at a time keep two cores busy: those that run programs and machines wait half of their time. Files
    // that run the service in memory share a process (isolate: false), since to load it takes longer than most of them.
    // So do unit tests: without it, each file of rules would parse all sources again.
    maxWorkers: 3,
    // Node runs the files as they are, from its cache of compiled code. Vite would transform them for each project.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Nobody waits this long but where something hangs: a busy machine is no reason to fail.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          isolate: false,
          // It imports components of the console, whose JSX Node doesn't run.
          experimental: { viteModuleRunner: true },
          include: ['api/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['api/drivers/{guest,qemu,incus}/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'api-sqlite',
          isolate: false,
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'api-postgres',
          isolate: false,
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'postgres' },
          globalSetup: 'test/harness/postgres.ts',
        },
      },
      {
        extends: true,
        test: { name: 'sdk', isolate: false, include: ['test/sdk/**/*.test.ts'] },
      },
      {
        extends: true,
        test: { name: 'cli', isolate: false, include: ['test/cli/**/*.test.ts'] },
      },
      ...(hasChromium
        ? [
            {
              extends: true as const,
              test: { name: 'browser', isolate: false, include: ['test/browser/**/*.test.ts'] },
            },
          ]
        : []),
      {
        extends: true,
        test: { name: 'process', include: ['test/process/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          // BERTH_URL and BERTH_TOKEN name another service than the one that is started for this.
          name: 'acceptance',
          include: [
            process.env.BERTH_PROFILE === 'smoke'
              ? 'test/acceptance/smoke.test.ts'
              : 'test/acceptance/**/*.test.ts',
          ],
          globalSetup: 'test/acceptance/harness/simulator.ts',
          fileParallelism: false,
        },
      },
      ...(hasQemu
        ? [
            {
              extends: true as const,
              test: {
                name: 'acceptance-qemu',
                include: ['test/acceptance/smoke.test.ts'],
                globalSetup: 'test/acceptance/harness/qemu.ts',
                testTimeout: 900_000,
                hookTimeout: 900_000,
              },
            },
          ]
        : []),
      ...(isCluster
        ? [
            {
              extends: true as const,
              test: {
                name: 'acceptance-cluster',
                include: ['test/acceptance/**/*.test.ts'],
                globalSetup: 'test/acceptance/harness/cluster.ts',
                fileParallelism: false,
              },
            },
            {
              extends: true as const,
              test: {
                name: 'cluster',
                include: ['api/drivers/incus/**/*.test.ts', 'test/cluster/**/*.test.ts'],
                fileParallelism: false,
              },
            },
          ]
        : []),
      ...(hasTools
        ? [
            {
              extends: true as const,
              test: {
                name: 'hcloud',
                include: ['test/hcloud/**/*.test.ts'],
                testTimeout: 900_000,
                hookTimeout: 900_000,
              },
            },
          ]
        : []),
      {
        extends: true,
        test: {
          name: 'qemu',
          include: ['api/drivers/{guest,qemu}/**/*.test.ts', 'test/qemu/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
    ],
  },
})
