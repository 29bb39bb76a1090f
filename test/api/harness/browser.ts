import { expect } from 'vitest'
import { type Call, type Reply, SITE, type TestApp } from '../../harness/app.ts'

export const PASSWORD = 'seven brown boats'

/** A browser with its cookies, on a page of the service. */
export function openBrowser({ callAs }: Pick<TestApp, 'callAs'>) {
  let cookie = ''
  const call: Call = async (method, path, body, headers = {}) => {
    const reply = await callAs(null)(method, path, body, {
      origin: SITE,
      ...(cookie ? { cookie } : {}),
      ...headers,
    })
    const set = reply.headers['set-cookie']
    if (set !== undefined) cookie = set.split(';')[0] ?? ''
    return reply
  }
  return { call, cookie: () => cookie }
}

/** The secret that an app was given. */
export function fromBase32(text: string): Buffer {
  const bits = [...text]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** The part after the # in the link of the last mail to an address. */
export async function linkTo({ app, mails }: Pick<TestApp, 'app' | 'mails'>, email: string): Promise<string> {
  await app.mails.look()
  const mail = mails.findLast(({ to }) => to === email)
  return /#(\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
}

/** Signs a person up. @returns their browser and their person */
export async function signUp(t: TestApp, email: string, password = PASSWORD, name = 'Ann') {
  const browser = openBrowser(t)
  expect((await browser.call('POST', '/sign-up', { email })).status).toBe(204)
  const token = await linkTo(t, email)
  const reply: Reply = await browser.call('POST', '/sign-up/complete', { token, name, password })
  expect(reply).toMatchObject({ status: 200, body: { is_signed_in: true } })
  return { ...browser, person: reply.body.person }
}
