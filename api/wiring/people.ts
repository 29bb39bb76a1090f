import { addressQuota } from '../addresses/addresses.ts'
import { grantTrial } from '../credits/trials.ts'
import type { Queries } from '../database/database.ts'
import { type Mail, type Mailer, signed } from '../mail/mailer.ts'
import { MailQueue } from '../mail/queue.ts'
import { Attempts } from '../people/guard/attempts.ts'
import { Passwords } from '../people/guard/passwords.ts'
import { imageQuota } from '../snapshots/images.ts'
import { snapshotQuota } from '../snapshots/snapshots.ts'
import type { Wired } from './options.ts'

const NO_MAILER: Mailer = {
  place: 'nowhere',
  send: () => Promise.reject(new Error('there is no mailer')),
  check: () => Promise.reject(new Error('there is no mailer')),
  close: () => {},
}

/** Wires sign-in and its mails. */
export function signingIn(options: Wired) {
  const {
    db,
    clock,
    log,
    secrets,
    signUp = 'open',
    mailer = NO_MAILER,
    passwords = new Passwords(),
    peers,
    trialCredit: trial = null,
  } = options
  const { siteUrl = () => 'http://127.0.0.1:8080', oidc = null, hasConsole = true } = options
  const send = (mail: Mail) => mailer.send(signed(mail, options.catalog.operator))
  const mails = new MailQueue({ db, clock, log, secrets, mailer: { ...mailer, send } })
  peers.on('mailed', () => mails.wake())
  const trials = trial && { clock, secrets, trial }
  const parts = {
    grantTrial: async (tx: Queries, of: { accountId: string; email: string }) =>
      trials ? grantTrial(tx, trials, of) : undefined,
    promoTries: new Attempts({ db, clock }, 'promo codes of', { burst: 10, everyMs: 10 * 60_000 }),
    ...{ passwords, signUp, siteUrl, oidc, hasConsole },
    ownQuotas: { addresses: addressQuota, snapshots: snapshotQuota, images: imageQuota },
    mailed: () => peers.ring('mailed'),
  }
  return { mails, parts }
}
