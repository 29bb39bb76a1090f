// The generators that customers use, at the versions that openapi.json is tried with.

export interface Generator {
  /** Its file in uses/, and its folder in generated/. */
  name: string
  title: string
  /** Its command, after which openapi.json and `out` stand as it wants them. */
  command(out: string): readonly [program: string, ...args: string[]]
  /** Files that it needs beside what it writes. */
  files?(out: string): Readonly<Record<string, string>>
  /** Whether its use is a server's life against a real service. */
  lives?: true
}

/** All in one folder of npm's, also what their output imports. */
export const packages = {
  '@hey-api/openapi-ts': '0.99.0',
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  'swagger-typescript-api': '13.13.0',
  orval: '8.20.0',
  zod: '4.6.7',
  '@kubb/cli': '4.39.3',
  '@kubb/core': '4.39.3',
  '@kubb/plugin-oas': '4.39.3',
  '@kubb/plugin-ts': '4.39.3',
  '@kubb/plugin-client': '4.39.3',
  '@stoplight/spectral-cli': '6.16.3',
  typescript: '5.9.3',
  '@types/node': '24.19.2',
} as const

const titleOf = (name: keyof typeof packages) => `${name} ${packages[name]}`

function orval(client: 'fetch' | 'zod'): Generator {
  const name = `orval-${client}`
  return {
    name,
    title: `${titleOf('orval')} (${client})`,
    command: () => ['orval', '--config', `${name}.config.mjs`],
    files: (out) => ({
      [`${name}.config.mjs`]: `export default { api: { input: './openapi.json', output: { target: './${out}/api.ts', client: '${client}' } } }`,
    }),
  }
}

export const generators: readonly Generator[] = [
  {
    name: 'hey-api',
    title: titleOf('@hey-api/openapi-ts'),
    lives: true,
    command: () => ['openapi-ts', '-f', 'hey-api.config.mjs'],
    // Node runs what it writes only if imports name the files with their .ts.
    files: (out) => ({
      'hey-api.config.mjs': `export default { input: './openapi.json', output: { path: './${out}', importFileExtension: '.ts' }, logs: { level: 'error' } }`,
    }),
  },
  {
    name: 'openapi-fetch',
    title: `${titleOf('openapi-typescript')}, ${titleOf('openapi-fetch')}`,
    lives: true,
    command: (out) => ['openapi-typescript', 'openapi.json', '-o', `${out}/schema.ts`],
    files: (out) => ({
      [`${out}/index.ts`]: [
        "export { default as createClient } from 'openapi-fetch'",
        "export type { components, paths } from './schema.ts'",
      ].join('\n'),
    }),
  },
  {
    name: 'swagger-typescript-api',
    title: titleOf('swagger-typescript-api'),
    command: (out) => ['swagger-typescript-api', 'generate', '-p', 'openapi.json', '-o', out, '-n', 'api.ts'],
  },
  orval('fetch'),
  orval('zod'),
  {
    name: 'kubb',
    title: titleOf('@kubb/cli'),
    command: () => ['kubb', 'generate', '--config', 'kubb.config.mjs'],
    files: (out) => ({
      'kubb.config.mjs': `
        import { defineConfig } from '@kubb/core'
        import { pluginClient } from '@kubb/plugin-client'
        import { pluginOas } from '@kubb/plugin-oas'
        import { pluginTs } from '@kubb/plugin-ts'
        export default defineConfig({
          root: '.',
          input: { path: './openapi.json' },
          output: { path: './${out}', format: false, lint: false },
          plugins: [pluginOas(), pluginTs(), pluginClient({ client: 'fetch', bundle: true })],
        })`,
    }),
  },
]
