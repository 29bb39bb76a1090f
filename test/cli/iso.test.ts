import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseCatalog } from '../../api/catalog/file.ts'
import { bootableIso } from '../../api/drivers/test-iso.ts'
import { catalogText } from '../harness/app.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('an ISO is uploaded, inserted into the drive of a server, ejected and deleted', async () => {
  const t = await loggedIn({
    sshPorts: { first: 22741, last: 22741 },
    // The name leads to a private address, so that nothing is fetched.
    lookup: async () => [{ address: '10.0.0.1', family: 4 }],
    catalog: parseCatalog(
      `${catalogText}\nisos: [{ slug: alpine, title: Alpine Linux, file: /srv/alpine.iso }]\n`,
      'catalog.yaml',
    ),
  })
  await t.make('web-1')
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-iso-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'debian.iso')
  writeFileSync(file, bootableIso('An installer'))
  expect(await t.run(`iso upload ${file} --wait`)).toMatchObject({
    ...{ code: 0, out: expect.stringMatching(/Name: +debian.iso\s[\s\S]*Status: +available/) },
  })
  await expectSession(t, 'iso', [
    'iso upload none.iso',
    'iso list',
    'iso list -o json',
    'iso list --sort color',
    'iso create other --from-url http://127.0.0.1/other.iso',
    'iso create other --from-url https://example.com/other.iso --no-wait',
    'iso create third --from-url https://example.com/other.iso --no-wait -o json',
    'iso update debian.iso --name debian',
    'iso update debian --name debian -o json',
    'iso update debian',
    'iso show debian',
    'iso show debian -o json',
    'iso show none',
    'iso show alpine',
    'iso update alpine --name mine',
    'iso delete alpine',
    'server insert-iso web-1 alpine --wait',
    'server insert-iso web-1 debian --wait',
    'server insert-iso web-1 debian -o json',
    'server insert-iso web-1 none',
    'iso delete debian',
    'server eject-iso web-1 --wait',
    'server eject-iso web-1 -o json',
    'server eject-iso none',
    'iso delete debian',
  ])
})
