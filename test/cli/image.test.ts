import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('images are made from snapshots, shown, renamed and deleted, and servers are created from them', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await expectSession(t, 'image', [
    'snapshot create web-1 --name before --wait -o name',
    'image create golden --snapshot before --wait',
    'image create second --snapshot before --no-wait -o json',
    'image create third --snapshot none',
    'image create third',
    'image upload none.qcow2',
    'image create third --from-url http://127.0.0.1/disk',
    'image list',
    'image list -o json',
    'image list --sort color',
    'image show golden',
    'image show golden -o json',
    'image show none',
    'image update golden --name silver',
    'image update silver --name golden -o json',
    'image update golden',
    'server create web-2 --image golden --preset nano --no-ssh-key --wait -o name',
    'server rebuild web-1 --image golden --yes --wait',
    'server rebuild web-1 --image none --yes',
    'image delete golden',
    'image delete golden',
  ])
})

test('a file is uploaded, in one command or two, and becomes an image with its name', async () => {
  const t = await loggedIn()
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-image-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'own.img')
  const disk = Buffer.alloc(3 * 2 ** 20)
  disk.writeUInt16BE(0x55aa, 510)
  writeFileSync(file, disk)
  const [zone] = await t.berth.zones.list()
  const place = { zone_slug: zone?.zone_slug ?? '' }
  const begun = { name: 'own.img', upload: true, content_bytes: disk.length, ...place }
  const { image_id } = await t.berth.images.create(begun)
  await t.berth.images.uploadPart(image_id, new Blob([disk.subarray(0, 2 ** 20)]), { uploadOffset: 0 })
  const { err } = await t.run(`image upload ${file} --wait`)
  expect(err).toContain('Continuing at 1 MiB of 3 MiB.')
  expect((await t.run('image list -o json')).out).toMatch(/"name": "own.img",\s+"status": "available"/)
})
