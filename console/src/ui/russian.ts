import type { ErrorCode, Problem } from '@berth/sdk'

type IssueCode = NonNullable<Problem['errors']>[number]['code']

/** @param noun the noun, whose ending shows its gender */
const gone = (noun: string, ending: '' | 'а' | 'о' = '') =>
  `${noun} не найден${ending}. Возможно, уже удал${ending === '' ? 'ён' : `ен${ending}`}.`

/** The API's errors in Russian, by code: the API itself replies in English, which stands in for one that is missing. */
export const errors: Readonly<Partial<Record<ErrorCode, string>>> = {
  access_denied: 'Вход отклонён.',
  account_exists: 'Аккаунт с этим адресом или внешним номером уже есть.',
  account_in_use:
    'В аккаунте есть серверы, снимки, публичные адреса или долг. Сначала удалите серверы и снимки, освободите адреса и пополните баланс.',
  account_not_found: gone('Аккаунт'),
  account_status_conflict: 'Статус аккаунта этого не позволяет. Обновите страницу.',
  account_token_required: 'Токен оператора не открывает аккаунты.',
  account_suspended:
    'Аккаунт приостановлен или закрыт, причина указана вверху страницы. Можно смотреть, останавливать и удалять.',
  address_in_use: 'Адрес занят сервером, или у сервера уже есть адрес этого семейства.',
  address_not_allowed: 'С этого адреса токен не принимается.',
  address_not_found: gone('Адрес'),
  address_unavailable: 'В зоне нет свободных адресов. Попробуйте позже или выберите другую зону.',
  already_member: 'Этот человек уже состоит в аккаунте.',
  authorization_pending: 'Вход ещё не одобрен.',
  backend_unavailable: 'Сейчас это недоступно. Повторите чуть позже.',
  bad_request: 'Запрос составлен неверно.',
  backup_not_found: gone('Резервная копия'),
  backup_not_ready: 'Резервная копия ещё создаётся. Дождитесь завершения.',
  capacity_unavailable: 'Сейчас в зоне нет места для такого сервера. Выберите меньший план или другую зону.',
  delete_protected: 'Сервер защищён от удаления. Сначала снимите защиту в настройках.',
  email_unverified: 'Провайдер не подтверждает ваш адрес почты. Подтвердите его там или войдите с паролем.',
  expired_token: 'Код устарел. Начните вход сначала.',
  firewall_in_use: 'Файрвол подключён к серверам. Сначала отключите его.',
  firewall_limit_reached: 'Слишком много серверов у файрвола или файрволов у сервера.',
  firewall_not_found: gone('Файрвол'),
  identity_for_another: 'У провайдера указан другой адрес почты. Войдите с тем адресом, который указан там.',
  identity_not_found: 'Провайдер не подключён.',
  idempotency_key_in_use: 'Такой запрос уже выполняется. Подождите.',
  idempotency_key_reused: 'Ключ запроса уже использован для другого запроса.',
  image_in_use: 'Из этого образа сейчас создаётся сервер. Дождитесь завершения.',
  image_not_found: gone('Образ'),
  insufficient_balance: 'На балансе недостаточно средств. Пополните его.',
  insufficient_scope: 'Ваша роль этого не позволяет.',
  internal_error: 'Непредвиденная ошибка. Повторите; если не поможет, сообщите оператору номер запроса.',
  invalid_json: 'Тело запроса не является верным JSON.',
  invalid_token: 'Токен недействителен.',
  invitation_for_another: 'Приглашение для другого человека. Войдите с тем адресом, на который оно пришло.',
  invitation_not_found: gone('Приглашение', 'о'),
  last_owner: 'У аккаунта должен остаться владелец. Сначала назначьте другого.',
  link_invalid: 'Ссылка недействительна: она уже использована или устарела. Запросите новую.',
  member_not_found: gone('Участник'),
  missing_token: 'Нужно войти.',
  network_address_unavailable: 'Этот адрес в сети занят или не подходит. Выберите другой.',
  network_attached: 'Сервер уже в этой сети.',
  network_in_use: 'В сети есть серверы. Сначала отключите их.',
  network_not_found: gone('Сеть', 'а'),
  no_account: 'Вы вошли, но не состоите ни в одном аккаунте. Попросите владельца пригласить вас.',
  no_console: 'Консоль отключена, одобрить вход негде. Войдите с токеном.',
  no_provider: 'Вход через провайдера не настроен.',
  not_a_member: 'Вы больше не состоите в этом аккаунте.',
  not_supported: 'Эта зона это не поддерживает.',
  operation_in_progress: 'На сервере уже выполняется операция. Дождитесь её завершения.',
  operation_not_found: gone('Операция', 'а'),
  operator_required: 'Нужна роль оператора.',
  origin_not_allowed: 'Запросы со страниц других сайтов не принимаются.',
  owner_unclear: 'Нельзя создать ссылку: владелец входит сам.',
  passkey_limit_reached: 'Ключей доступа уже десять. Удалите ненужный.',
  passkey_not_found: gone('Ключ доступа'),
  passkey_refused: 'Ключ доступа не принят. Войдите с паролем.',
  passkeys_unavailable: 'Для ключей доступа нужны имя хоста и TLS, их настраивает оператор.',
  payload_too_large: 'Слишком много данных в запросе.',
  person_required: 'Это доступно только вошедшему пользователю, а не токену.',
  port_is_system: 'Этим портом управляет сервис: снять его нельзя.',
  port_not_found: gone('Порт'),
  port_taken: 'Этот внешний порт занят. Выберите другой.',
  precondition_failed: 'Объект изменился за это время. Обновите страницу и повторите.',
  project_is_default: 'Основной проект удалить нельзя.',
  project_not_empty: 'В проекте есть серверы. Сначала удалите или перенесите их.',
  project_not_found: gone('Проект'),
  provider_refused: 'Провайдер не подтвердил вход. Начните сначала.',
  quota_exceeded: 'Достигнут лимит аккаунта. Удалите лишнее или обратитесь к оператору.',
  rate_limited: 'Слишком много запросов. Подождите немного и повторите.',
  reference_taken: 'Платёж с этим номером уже проведён на другую сумму. Укажите другой номер.',
  rescue_conflict: 'Сейчас это невозможно: проверьте, в режиме спасения сервер или нет.',
  role_not_allowed: 'Эта роль выше вашей: назначить или отозвать её вы не можете.',
  server_not_found: gone('Сервер'),
  server_state_conflict: 'Сейчас состояние сервера этого не позволяет.',
  session_ended: 'Сеанс завершён. Войдите снова.',
  session_not_found: gone('Сеанс'),
  sign_in_again: 'У вас нет пароля. Выйдите, войдите снова и сделайте это в течение 10 минут.',
  sign_in_failed: 'Неверный адрес или пароль.',
  sign_up_closed: 'Регистрация закрыта.',
  slow_down: 'Слишком часто. Подождите немного.',
  snapshot_in_use: 'Из этого снимка сейчас создаётся или восстанавливается сервер. Дождитесь завершения.',
  snapshot_not_found: gone('Снимок'),
  ssh_key_exists: 'Такой ключ уже есть.',
  ssh_key_not_found: gone('Ключ'),
  terms_not_accepted: 'Условия использования не приняты или изменились. Откройте страницу заново.',
  ticket_invalid: 'Прошло слишком много времени. Начните вход сначала.',
  token_expired: 'Срок токена истёк.',
  token_not_found: gone('Токен'),
  token_not_revocable: 'У этого токена больше прав, чем у вас: отозвать его вы не можете.',
  token_revoked: 'Токен отозван.',
  two_factor_off: 'Двухфакторный вход выключен.',
  two_factor_on: 'Двухфакторный вход уже включён.',
  two_factor_required: 'Оператору нужен двухфакторный вход. Включите его на странице «Безопасность».',
  unsupported_media_type: 'У тела запроса неверный тип.',
  user_code_not_found: 'Такого кода нет, или он устарел. Проверьте его на экране, где он показан.',
  validation_failed: 'В запросе есть ошибки.',
  volume_detached: 'Том не подключён ни к одному серверу.',
  volume_in_use: 'Том подключён к серверу. Сначала отключите его.',
  volume_not_found: gone('Том'),
  webhook_not_found: gone('Вебхук'),
  webhook_not_verified: 'Адрес ещё не ответил на проверку.',
  wrong_code: 'Код неверен или уже использован. Дождитесь следующего и проверьте часы на устройстве.',
  wrong_password: 'Пароль неверен.',
}

/** Mistakes in a field, by code. @param limit the number that the API names, if any */
export const issues: Readonly<Partial<Record<IssueCode, (limit: string) => string>>> = {
  required: () => 'нужно заполнить',
  unknown_field: () => 'такого поля нет',
  wrong_type: () => 'неверный тип значения',
  too_long: (limit) => (limit ? `не больше ${limit}` : 'слишком длинно'),
  too_short: (limit) => (limit ? `не меньше ${limit}` : 'не должно быть пусто'),
  below_minimum: (limit) => (limit ? `не меньше ${limit}` : 'слишком мало'),
  above_maximum: (limit) => (limit ? `не больше ${limit}` : 'слишком много'),
  not_a_step: (limit) => (limit ? `с шагом ${limit}` : 'неверный шаг'),
  not_in_enum: () => 'такого варианта нет',
  invalid_format: () => 'неверный формат',
  not_found: () => 'не найдено',
  mutually_exclusive: () => 'нельзя указывать вместе с другим полем',
  disk_too_small: (limit) =>
    limit ? `для этого образа не меньше ${limit} ГБ` : 'слишком мало для этого образа',
  invalid_public_key: () => 'это не открытый ключ SSH',
  password_too_common: () => 'слишком распространённый пароль',
}

/** A newer service may have codes that the console does not know. */
export function russianOf(code: string): string | null {
  const known: Readonly<Record<string, string>> = errors
  return known[code] ?? null
}

export function russianIssue({ code, message }: { code: string; message: string }): string {
  const [, limit = ''] = /(?:at (?:least|most)|multiple of) (\d+)/.exec(message) ?? []
  const known: Readonly<Record<string, (limit: string) => string>> = issues
  return known[code]?.(limit) ?? message
}
