/** Text of a mail. */
export interface Letter {
  subject: string
  /** Paragraphs; the link stands before the last. */
  before: readonly string[]
  button: string
  after: string
}

export interface Facts {
  /** Host name of this installation. */
  site: string
  /**
   * Address of the person who invites, or of the account whose token does. No mail contains a name: strangers choose
   * these, and the operator is the sender.
   */
  invitedBy: string
  /** The operator's reason for a change, or the name of the provider that a change is about. */
  reason: string
}

/** Changes that a person is notified of by mail. */
export type Notice =
  | 'password_changed'
  | 'email_changed'
  | 'person_deleted'
  | 'two_factor_on'
  | 'two_factor_off'
  | 'two_factor_removed'
  | 'recovery_codes'
  | 'recovery_code_used'
  | 'passkey_added'
  | 'passkey_removed'
  | 'identity_added'
  | 'identity_removed'

export type Kind = 'sign_up' | 'known' | 'reset' | 'unknown' | 'email' | 'email_taken' | 'invitation' | Notice

/**
 * The mail of a notice. Passkeys and tokens stay valid after a change of the password, so the mail also asks the person
 * to check them.
 */
const notice =
  (button: string, after: string) =>
  (subject: string, ...before: string[]): Letter => ({ subject, before, button, after })

const noticeEn = notice(
  'Open the security page',
  'If it was not you, sign in, change your password, end all other sessions, and remove the passkeys and tokens that are not yours. If you can no longer sign in, contact the operator.',
)
const noticeRu = notice(
  'Открыть страницу безопасности',
  'Если это были не вы, войдите, смените пароль, завершите остальные сеансы и удалите чужие ключи доступа и токены. Если войти не удаётся, напишите оператору.',
)

const en: Record<Kind, (facts: Facts) => Letter> = {
  sign_up: ({ site }) => ({
    subject: `Finish signing up at ${site}`,
    before: [`Somebody, presumably you, is signing up at ${site} with this address.`],
    button: 'Choose a password',
    after: 'The link works once, for 24 hours. If it was not you, ignore this mail: nothing was created.',
  }),
  known: ({ site }) => ({
    subject: `You have an account at ${site}`,
    before: [
      `Somebody, presumably you, tried to sign up at ${site} with this address, which has an account already.`,
    ],
    button: 'Sign in',
    after: 'If you forgot your password, you can reset it on the sign-in page.',
  }),
  reset: ({ site }) => ({
    subject: `A new password for ${site}`,
    before: [`Somebody, presumably you, asked for a new password at ${site}.`],
    button: 'Choose a new password',
    after:
      'The link works once, for an hour. If it was not you, ignore this mail: your password stays the same.',
  }),
  unknown: ({ site }) => ({
    subject: `No account at ${site}`,
    before: [
      `Somebody, presumably you, asked for a new password at ${site}, but this address has no account there.`,
    ],
    button: 'Open the site',
    after: 'If it was not you, ignore this mail.',
  }),
  email: ({ site }) => ({
    subject: `Confirm this address for ${site}`,
    before: [`Somebody, presumably you, wants to sign in to ${site} with this address from here on.`],
    button: 'Confirm the address',
    after:
      'The link works once, for an hour, for the person who asked for it. If it was not you, ignore this mail: nothing was changed.',
  }),
  email_taken: ({ site }) => ({
    subject: `You have an account at ${site}`,
    before: [
      `Somebody, presumably you, tried to change their address at ${site} to this one, which is registered already.`,
    ],
    button: 'Sign in',
    after:
      'Each address can belong to one person only, so nothing was changed. If it was not you, ignore this mail.',
  }),
  email_changed: ({ site }) => ({
    subject: `Your e-mail address for ${site} was changed`,
    before: [
      `Your sign-in at ${site} now uses another address, which was confirmed. All other sessions have ended.`,
    ],
    button: 'Open the site',
    after: 'If it was not you, contact the operator: you can no longer sign in with this address.',
  }),
  person_deleted: ({ site }) => ({
    subject: `Your sign-in at ${site} was deleted`,
    before: [
      `You deleted your sign-in at ${site}. This address can no longer sign in, and the accounts that were yours alone are closed.`,
    ],
    button: 'Open the site',
    after: 'If it was not you, contact the operator. You can sign up with this address again at any time.',
  }),
  invitation: ({ site, invitedBy }) => ({
    subject: `An invitation to an account at ${site}`,
    before: [`${invitedBy} invites you to join an account at ${site}. Its name is on the page of the link.`],
    button: 'Accept the invitation',
    after: 'The link works once, for 7 days. If you did not expect this invitation, ignore this mail.',
  }),
  password_changed: ({ site }) =>
    noticeEn(
      `Your password for ${site} was changed`,
      `The password that you sign in to ${site} with was changed. All other sessions have ended.`,
    ),
  two_factor_on: ({ site }) =>
    noticeEn(
      `Two-factor authentication is on at ${site}`,
      `From now on you need a code from your app to sign in to ${site}. All other sessions have ended.`,
    ),
  two_factor_off: ({ site }) =>
    noticeEn(
      `Two-factor authentication is off at ${site}`,
      `From now on your password is enough to sign in to ${site}. All other sessions have ended.`,
    ),
  two_factor_removed: ({ site, reason }) =>
    noticeEn(
      `Two-factor authentication was removed at ${site}`,
      `The operator of ${site} has removed your second factor, and ended all your sessions. The reason: ${reason}`,
    ),
  recovery_codes: ({ site }) =>
    noticeEn(
      `Your recovery codes for ${site} were replaced`,
      `You have new recovery codes for ${site}. The earlier ones no longer work.`,
    ),
  recovery_code_used: ({ site }) =>
    noticeEn(
      `A recovery code was used at ${site}`,
      `One of your recovery codes for ${site} was used in place of a code from your app.`,
    ),
  passkey_added: ({ site }) =>
    noticeEn(
      `A passkey for ${site} was added`,
      `A new passkey can now sign you in to ${site}, without a password or a code.`,
    ),
  passkey_removed: ({ site }) =>
    noticeEn(
      `A passkey for ${site} was removed`,
      `One of your passkeys for ${site} was removed. All other sessions have ended.`,
    ),
  identity_added: ({ site, reason }) =>
    noticeEn(
      `You can sign in to ${site} with ${reason}`,
      `You can now sign in to ${site} with ${reason}, without your password.`,
    ),
  identity_removed: ({ site, reason }) =>
    noticeEn(
      `You can no longer sign in to ${site} with ${reason}`,
      `You can no longer sign in to ${site} with ${reason}. All other sessions have ended.`,
    ),
}

const ru: Record<Kind, (facts: Facts) => Letter> = {
  sign_up: ({ site }) => ({
    subject: `Завершите регистрацию на ${site}`,
    before: [`Кто-то, вероятно вы, регистрируется на ${site} с этим адресом.`],
    button: 'Выбрать пароль',
    after:
      'Ссылка действует один раз, в течение 24 часов. Если это были не вы, просто проигнорируйте это письмо: учётная запись не создана.',
  }),
  known: ({ site }) => ({
    subject: `У вас уже есть учётная запись на ${site}`,
    before: [
      `Кто-то, вероятно вы, хотел зарегистрироваться на ${site} с этим адресом, но он уже зарегистрирован.`,
    ],
    button: 'Войти',
    after: 'Если вы забыли пароль, на странице входа можно выбрать новый.',
  }),
  reset: ({ site }) => ({
    subject: `Новый пароль для ${site}`,
    before: [`Кто-то, вероятно вы, запросил новый пароль на ${site}.`],
    button: 'Выбрать новый пароль',
    after:
      'Ссылка действует один раз, в течение часа. Если это были не вы, просто проигнорируйте это письмо: пароль останется прежним.',
  }),
  unknown: ({ site }) => ({
    subject: `На ${site} нет такой учётной записи`,
    before: [`Кто-то, вероятно вы, запросил новый пароль на ${site}, но этот адрес там не зарегистрирован.`],
    button: 'Открыть сайт',
    after: 'Если это были не вы, просто проигнорируйте это письмо.',
  }),
  email: ({ site }) => ({
    subject: `Подтвердите этот адрес для ${site}`,
    before: [`Кто-то, вероятно вы, хочет входить на ${site} с этим адресом.`],
    button: 'Подтвердить адрес',
    after:
      'Ссылка действует один раз, в течение часа, и только для того, кто её запросил. Если это были не вы, просто проигнорируйте это письмо: ничего не изменилось.',
  }),
  email_taken: ({ site }) => ({
    subject: `У вас уже есть учётная запись на ${site}`,
    before: [
      `Кто-то, вероятно вы, хотел указать этот адрес на ${site} вместо прежнего, но он уже зарегистрирован.`,
    ],
    button: 'Войти',
    after:
      'Один адрес можно использовать только для одной учётной записи, поэтому ничего не изменилось. Если это были не вы, просто проигнорируйте это письмо.',
  }),
  email_changed: ({ site }) => ({
    subject: `Адрес почты на ${site} изменён`,
    before: [
      `Теперь для входа на ${site} используется другой, подтверждённый адрес. Остальные сеансы завершены.`,
    ],
    button: 'Открыть сайт',
    after: 'Если это были не вы, напишите оператору: с этим адресом войти уже нельзя.',
  }),
  person_deleted: ({ site }) => ({
    subject: `Ваша учётная запись на ${site} удалена`,
    before: [
      `Вы удалили свою учётную запись на ${site}: войти с этим адресом больше нельзя, а аккаунты, где не было других участников, закрыты.`,
    ],
    button: 'Открыть сайт',
    after: 'Если это были не вы, напишите оператору. Зарегистрироваться с этим адресом можно снова.',
  }),
  invitation: ({ site, invitedBy }) => ({
    subject: `Приглашение в аккаунт на ${site}`,
    before: [
      `${invitedBy} приглашает вас в аккаунт на ${site}. Название аккаунта вы увидите, открыв ссылку.`,
    ],
    button: 'Принять приглашение',
    after:
      'Ссылка действует один раз, в течение 7 дней. Если вы не ждали приглашения, просто проигнорируйте это письмо.',
  }),
  password_changed: ({ site }) =>
    noticeRu(`Пароль на ${site} изменён`, `Пароль для входа на ${site} изменён. Остальные сеансы завершены.`),
  two_factor_on: ({ site }) =>
    noticeRu(
      `Двухфакторная аутентификация на ${site} включена`,
      `Теперь для входа на ${site} нужен код из приложения. Остальные сеансы завершены.`,
    ),
  two_factor_off: ({ site }) =>
    noticeRu(
      `Двухфакторная аутентификация на ${site} отключена`,
      `Теперь для входа на ${site} достаточно пароля. Остальные сеансы завершены.`,
    ),
  two_factor_removed: ({ site, reason }) =>
    noticeRu(
      `Двухфакторная аутентификация на ${site} сброшена`,
      `Оператор ${site} сбросил вашу двухфакторную аутентификацию и завершил все ваши сеансы. Причина: ${reason}`,
    ),
  recovery_codes: ({ site }) =>
    noticeRu(
      `Коды восстановления для ${site} заменены`,
      `Для ${site} созданы новые коды восстановления. Прежние больше не действуют.`,
    ),
  recovery_code_used: ({ site }) =>
    noticeRu(
      `Использован код восстановления на ${site}`,
      `Вместо кода из приложения использован один из ваших кодов восстановления для ${site}.`,
    ),
  passkey_added: ({ site }) =>
    noticeRu(
      `Добавлен ключ доступа для ${site}`,
      `Теперь на ${site} можно войти с новым ключом доступа, без пароля и кода.`,
    ),
  passkey_removed: ({ site }) =>
    noticeRu(
      `Ключ доступа для ${site} удалён`,
      `Один из ваших ключей доступа для ${site} удалён. Остальные сеансы завершены.`,
    ),
  identity_added: ({ site, reason }) =>
    noticeRu(`Вход на ${site} через ${reason}`, `Теперь на ${site} можно войти через ${reason}, без пароля.`),
  identity_removed: ({ site, reason }) =>
    noticeRu(
      `Вход на ${site} через ${reason} отключён`,
      `Войти на ${site} через ${reason} больше нельзя. Остальные сеансы завершены.`,
    ),
}

export const letters = { en, ru }
