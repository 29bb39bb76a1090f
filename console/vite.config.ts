import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Puts a .br and a .gz beside each file, so that the service compresses nothing while it is asked. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      const folder = path.join(import.meta.dirname, 'dist/assets')
      for (const name of readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file))) {
        const file = path.join(folder, name)
        const bytes = readFileSync(file)
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

/** The controls of most pages, without those of lists, which the sign-in page does not need. */
const PARTS = /src\/ui\/(?!table|resource-page|steady-rows|confirm-delete|show-as)|@tanstack/

/** The lists of pages, menus and queries of all features, which the first page loads whichever it is. */
const FEATURES = /src\/(routes|(.+\/)?(feature|features|queries|search))\.ts$/

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), precompress()],
  // The service puts a new one into each page that it sends.
  html: { cspNonce: '__NONCE__' },
  // data: is in no policy but that of images.
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    emptyOutDir: true,
    // Code that most pages share comes in one file, and not in twenty that wait for each other.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'parts', test: PARTS, minShareCount: 3 },
            { name: 'features', test: FEATURES },
          ],
        },
      },
    },
  },
  server: { proxy: { '/v1': { target: 'http://127.0.0.1:8080', ws: true } } },
})
