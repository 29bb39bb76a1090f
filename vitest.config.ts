import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // One file at a time per core is plenty: QEMU guests are emulated on the same two cores.
    maxWorkers: 2,
    testTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['api/**/*.test.ts', 'test/rules.test.ts'],
          exclude: ['api/drivers/qemu/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'api-sqlite',
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'api-postgres',
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'postgres' },
          globalSetup: 'test/postgres.ts',
        },
      },
      {
        extends: true,
        test: { name: 'process', include: ['test/process/**/*.test.ts'], testTimeout: 120_000 },
      },
      {
        extends: true,
        test: {
          name: 'qemu',
          include: ['api/drivers/qemu/**/*.test.ts', 'test/qemu/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
