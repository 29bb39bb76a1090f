import { generateX25519Identity } from 'age-encryption'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../api/clock.ts'
import { BucketPlace } from '../../../api/offsite/bucket.ts'
import { Sealer } from '../../../api/offsite/sealer.ts'
import { TestBucket } from '../../../api/offsite/test-bucket.ts'
import { Vault } from '../../../api/offsite/vault.ts'
import { type TestApp, testApp } from '../../harness/app.ts'

const sealer = new Sealer(await generateX25519Identity())

/** An installation with a bucket, in which a copy is several parts. */
export async function withBucket(): Promise<{ t: TestApp; bucket: TestBucket }> {
  const bucket = new TestBucket()
  await bucket.listen()
  onTestFinished(() => bucket.close())
  const vault = new Vault(new BucketPlace(bucket.place(), systemClock), sealer, { partBytes: 300 })
  return { t: await testApp({ vault }), bucket }
}

/** Copies a server's disk. @returns the snapshot's id */
export async function take(t: TestApp, server_id: string): Promise<string> {
  const { body } = await t.call('POST', '/snapshots', { server_id })
  await t.finish()
  return body.snapshot_id
}

/** Runs all work that is due. Fetching a copy takes no time on the test's clock. */
export async function finish(t: TestApp): Promise<void> {
  for (;;) {
    await t.work()
    await t.app.offsite.settled()
    const due = await t.app.engine.nextDueAt()
    if (due === null) return
    t.clock.advance(Math.max(1, due - t.clock.now()))
  }
}
