"""What is refused, and the ordinary memories beside it. Every secret is made up, and put together from pieces."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rdforget.store.records import Candidate
from rdforget.store.refusal import Refusal, plain, refusal, refusal_of

WORD = "hunter" + "2"
CARD = " ".join(["4111", "1111", "1111", "1111"])
IBAN = " ".join(["DE89", "3704", "0044", "0532", "0130", "00"])
HEX = "deadbeef" * 8
MIXED = "Zx9" + "qW7e" * 9
JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in ({"alg": "HS256"}, {"sub": "1"})
)
SEED = "apple river stone cloud paper tiger ocean lamp chair music forest bread"

CREDENTIALS = {
    # passwords in prose
    f"My password is {WORD}": "password",
    "my password is swordfish": "password",
    "My password is swordfish.": "password",
    "My password is correct horse battery staple": "password",
    f"Password: {WORD}": "password",
    "password: swordfish": "password",
    f"password={WORD}": "password",
    f"The password for my router at home is {WORD}": "password",
    f"The password to the club room is {WORD}!": "password",
    f"the wifi password is '{WORD}', tell nobody": "password",
    "The wifi code is sunflower99": "password",
    f"The password that Anna gave me was {WORD}": "password",
    f"I changed my password to {WORD} yesterday": "password",
    f"Her Netflix login is ines / {WORD}": "password",
    f"{WORD} is my password": "password",
    f"I always use {WORD} as my password": "password",
    f"My passphrase is still {WORD}": "password",
    f"user: ines pass: {WORD}": "password",
    f"DB_PASSWORD={WORD}": "password",
    f'{{"password": "{WORD}"}}': "password",
    f"Server=db;User=ines;Password={WORD};": "password",
    f"My password's {WORD}": "password",
    f"my password, which is {WORD}, is old": "password",
    f"My PASSWORD IS {WORD.upper()}": "password",
    # other languages
    f"Mein Passwort ist {WORD}": "password",
    "Mein WLAN-Passwort lautet Sonnenblume": "password",
    f"Mon mot de passe est {WORD}": "password",
    f"Mi contraseña es {WORD}": "password",
    f"A minha senha é {WORD}": "password",
    f"La mia password è {WORD}": "password",
    f"Mijn wachtwoord is {WORD}": "password",
    f"Мой пароль {WORD}": "password",
    f"我的密码是{WORD}": "password",
    f"パスワードは{WORD}です": "password",
    f"비밀번호는 {WORD}": "password",
    # codes
    "PIN 4711": "access code",
    "My PIN is 4711": "access code",
    "The pin for my bank card is 4711": "access code",
    "4711 is my PIN": "access code",
    "The door code is 4711#": "access code",
    "The code for the garage is 4711": "access code",
    "Our alarm code: 4711": "access code",
    "the combination to the safe is 12-34-56": "access code",
    "The verification code is 482913": "access code",
    "Your one-time code is 482913": "access code",
    "Der Haustürcode ist 4711": "access code",
    "Le code de la porte est 4711": "access code",
    "El código de la puerta es 4711": "access code",
    # keys and tokens
    f"My API key is {MIXED[:16]}": "key",
    f"api_key = '{MIXED}'": "key",
    f"the access token for the bot is {MIXED}": "key",
    f"client secret: {MIXED}": "key",
    f"The private key of my wallet is 0x{HEX}": "key",
    f"secret={MIXED}": "key",
    "AKIA" + "ABCDEFGHIJKLMNOP": "token",
    "it is ghp_" + "a1B2" * 9: "token",
    "use github_pat_" + "a1B2" * 9: "token",
    "sk-" + "a1B2" * 8: "token",
    "sk_" + "live_" + "a1B2" * 6: "token",
    "xoxb-" + "12345678-" * 2 + "abcdef": "token",
    "glpat-" + "a1B2" * 5: "token",
    "AIza" + "a1B2" * 9: "token",
    f"curl -H 'Authorization: Bearer {MIXED}'": "token",
    f"{JWT}.": "token",
    "-----BEGIN RSA " + "PRIVATE KEY-----": "private key",
    "-----BEGIN " + "PRIVATE KEY-----\nMIIE": "private key",
    "postgres://ines:" + f"{WORD}@db.example/main": "connection string",
    "redis://:" + f"{WORD}@localhost:6379/0": "connection string",
    f"My seed phrase is {SEED}": "seed phrase",
    SEED: "seed phrase",
    "recovery phrase: " + " ".join(f"{n}. {word}" for n, word in enumerate(SEED.split(), 1)): "seed phrase",
}
REFUSED = f"""
the password for the wifi is {WORD} and the network is called Fox
the WiFi password is Sunflower
wifi: Fox / {WORD}!
my wifi pass is {WORD}
My gmail password changed to {WORD}-Blau
Ines' password is "blue horse"
Ines's password: blue horse battery
The user's database password is {WORD}.
Our Netflix password is fluffy, don't tell
the password's fluffy
Her password is Fluffy
login: ines password: {WORD}
user=ines;pwd={WORD}
my credentials are ines:{WORD}
What is the password? The password is: {WORD}
mein Kennwort lautet {WORD}
mot de passe : tournesol
le code wifi est tournesol12
Mi clave es {WORD}
mi contraseña del banco es girasol
пароль от wifi: {WORD}
密码：{WORD}
我的wifi密码为12345678
暗証番号は4711です
Ines said her bank PIN is 4711
pin number 4711 for the visa card
my atm pin 4711
Die PIN meiner Karte ist 4711
Mon code PIN est 4711
il mio PIN è 4711
The passcode for my phone is 482913
phone unlock code is 4829
the code to the front door is 4829
gate code 4829
Use code 4829 for the garage door
My 2FA backup codes are 4829-1234 and 2291-1234
recovery code: a1b2c-d3e4f
Your verification code is 482 913
x-api-key: abcd1234efgh5678
the secret token is a1b2c3d4e5f6
card number: 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
Account #: 12345678
Acct: 12345678
My account number at Chase is 000123456789
routing 021000021 account 12345678
SSN 123456789
""".strip().splitlines()
FINANCIAL = {
    f"My card is {CARD}": "card number",
    f"{CARD} 12/27 123": "card number",
    CARD.replace(" ", ""): "card number",
    CARD.replace(" ", "-"): "card number",
    CARD.replace(" ", "\n"): "card number",
    " ".join(CARD.replace(" ", "")): "card number",
    "amex 3782 822463 10005": "card number",
    "5555 " + "5555 5555 4444, exp 01/30": "card number",
    "My credit card number is 1234 5678 9012 3456": "card number",
    f"My IBAN is {IBAN}": "IBAN",
    IBAN.replace(" ", ""): "IBAN",
    f"Bitte auf {IBAN.lower()} überweisen": "IBAN",
    "GB82 WEST " + "1234 5698 7654 32": "IBAN",
    "IBAN: DE00 1234 5678 9012 3456 78": "IBAN",
    "CVV 123": "card check code",
    "the cvc is 987": "card check code",
    "The security code on my card is 987": "card check code",
    "My bank account number is 12345678": "account number",
    "acct no. 0012345678": "account number",
    "Kontonummer 12345678": "account number",
    "número de cuenta: 12345678": "account number",
    "routing number 021000021": "routing number",
    "BLZ 370 400 44": "routing number",
    "sort code 12-34-56": "routing number",
    "My social security number is 123-45-6789": "tax number",
}
ASKED = (
    "Please don't remember this.",
    "Don't remember this: I am leaving Orla.",
    "do not remember that I am leaving",
    "Do not memorise any of this, please",
    "I don't want you to remember this.",
    "I'd rather you didn't remember that",
    "Never store this in your memory",
    "don't save this to memory",
    "Please don't store this.",
    "Don't add what I just said to your notes",
    "Do not keep this in your long-term memory",
    "This should not be remembered.",
    "that is not to be stored",
    "forget I said that",
    "Forget what I just told you",
    "please forget this",
    "Actually, forget that I said anything about Vik",
    "I'd like you to forget that I mentioned it",
    "Forget this conversation.",
    "Off the record, I am leaving Orla",
    "This is off the record: Ines is leaving",
    "keep this out of your memory",
    "Please leave that out of your notes",
    "Erase this from your memory",
    "Answer without storing any of this",
    "Merk dir das bitte nicht",
    "Speichere das nicht",
    "Das bitte nicht speichern",
    "Vergiss, was ich gesagt habe",
    "Ne retiens pas ça",
    "Oublie ce que j'ai dit",
    "No guardes esto",
    "Olvida lo que te dije",
    "Non memorizzare questo",
    "Dimentica quello che ho detto",
    "Não guarde isso",
    "Onthoud dit niet",
    "Vergeet wat ik zei",
    "Не запоминай это",
    "Забудь, что я сказал",
    "不要记住这个",
    "忘了我刚才说的话",
    "これは覚えないでください",
    "オフレコで",
)
ORDINARY = (
    # what is said of passwords, codes, keys and cards
    "My password is too weak",
    "My password manager is Bitwarden",
    "The password must have 12 characters",
    "The password is 12 characters long",
    "The password is required",
    "I forgot my password again",
    "The password for the wifi is on the fridge",
    "The password was changed on 3 May 2024",
    "She reset her password to get back in",
    "The password is different for every site",
    "Passwords are stored as hashes",
    "Password: required",
    "What is my password?",
    "This is the password that he uses most",
    "The password reset email said the meeting is Monday",
    "Ines prefers passphrases to passwords",
    "Das Passwort ist abgelaufen",
    "Le mot de passe est incorrect",
    "La contraseña es muy larga",
    "My API key is stored in the vault",
    "API keys rotate every 90 days",
    "The secret ingredient is cinnamon",
    "The key to success is patience",
    "The token economy course starts in 2025",
    "The access token expires after 3600 seconds",
    "The code word for the party is pineapple",
    "The dress code is smart casual",
    "The discount code is SPRING20",
    "My zip code is 90210",
    "The area code is 415 and the country code is +49",
    "The error code was 404",
    "The airport code of Metz is ETZ",
    "The security code has 3 digits",
    "The alarm code is 6 digits long",
    "The door code changes every month",
    "I pinned 4 photos to the board",
    "The pin is 3 mm long",
    "Bowling pin 7 fell last",
    "Ines has a debit card and a credit card",
    "My card ends in 4242",
    "The account has 5000 followers",
    "The seed phrase is kept in a safe",
    "Likes jazz, piano, guitar, drums, violin, cello, flute, harp, organ, banjo, viola, oboe, tuba",
    # numbers, dates and ids
    "The flat costs $1,250 a month",
    "Earned 85,000 EUR in 2023",
    "Call me on +49 1511 2345678",
    "My phone is (415) 555-0133",
    "Her number is 020 7946 0958",
    "Order 114-3941689-8772232 has shipped",
    "Order number 30219384756",
    "Tracking number 1Z999AA10123456784",
    "ISBN 978-3-16-148410-0",
    "The ticket is 550e8400-e29b-41d4-a716-446655440000",
    "Fixed in commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    f"sha256 {HEX}",
    "The build ran at 1700000000000",
    "2024-05-03 2024-05-04 2024-05-05",
    "Born on 3 May 1984, married on 4 May 2012",
    "The flight AB1234 leaves at 18:45",
    "Scores: 51 52 53 54 55 56 57 58",
    "Lives at 221B Baker Street, NW1 6XE",
    "See https://example.com/watch?v=dQw4w9WgXcQ&t=120",
    "The repository is at https://example.com:8443/ines/store.git",
    "Reach Ines at ines@example.com",
    "Population 8,336,817 in 2022",
    "Room 4711 on floor 12",
    "ssh-ed25519 is the key type that she uses",
    # remembering and forgetting that is no request
    "I don't remember the name of the café",
    "I don't remember this at all",
    "Remember not to water the cactus",
    "Don't forget to buy milk",
    "Never forget what I said about Vik",
    "Don't forget I said that the shop closes at six",
    "I often forget what I said",
    "He forgot that I told him",
    "Ines keeps a record of her runs",
    "She took it off the record player",
    "Off the Record is the bar where they met",
    "Don't store this cheese in the fridge",
    "Please save the date: 3 May",
    "Please remember this: I am allergic to nuts",
    "I can't save money",
    "Ich kann mir Namen nicht merken",
    "Vergiss nicht, Milch zu kaufen",
    "Je ne me souviens pas de ça",
    "N'oublie pas le pain",
    "No recuerdo su nombre",
    "No olvides la leche",
    "Non ricordo il nome",
    "Vergeet niet de melk te kopen",
    "Я не помню, что это",
    "我不记得了",
    "忘れないでください",
    "Hannah said we should let the matter rest",
    "猫が好き",
    "🎉",
    "",
    *"""
The password policy requires 12 characters
Ines uses a password manager called KeePass2
My password hint is my first dog
My password expires in 90 days
The password is shared with Tom
Password reset takes 24h
I set a password to protect the file
I changed the password to something stronger
two-factor login is enabled
I log in at 9:30
Mountain pass: closed until 2024-05-01
Boarding pass: seat 12A
Ski pass: 240 CHF
The secret: patience
The secret of good bread: 24h of rest
Key: A minor
Key takeaways: start in 2025
The keys are under the mat
The model has 8192 tokens
The ping was 12 ms
The pin of the plug is bent
Pinot 2019 is her favourite wine
The combination of 12 herbs is great
The code has 1200 lines
The code of the course is CS101
The gate number is B12
The gate closes at 18:45
Door 4 is red
The alarm goes off at 6:30
The safe holds 300 kg
The security deposit is $1,200
The access road is 300 m long
The house number is 4711
The bank account was opened in 2019
My bank balance is $2,400
The account was created on 2019-05-03
She earns $85,000 a year
My IBAN is on file
Invoice 2024-000123-4567-8901 is paid
The barcode is 4006381333931
IMEI 356938035643809 is the old phone
Lottery numbers 4 8 15 16 23 42
Pi is 3.14159265358979323846
MAC 00:1A:2B:3C:4D:5E
IP 192.168.178.12
Lat 48.856613, lon 2.352222
Part number 4111-1111-AB
ae306d03-65ea-4744-b119-38b0eaf0b862
You never remember this
They don't store this item
Don't keep this plant in the sun
I don't save it for later
Forget about winning, she said it was fun
I will never forget this trip
Let's not forget what we said
Don't forget this
The minister spoke off the record
The record was broken off the coast
Remind me not to save this for last
Remember that I don't eat meat
She doesn't store onions in the fridge
She didn't want to be remembered as rude
Merk dir das bitte
Ich merke mir das nicht immer
Er vergisst, was ich sage
Er hat vergessen, was ich gesagt habe
J'ai oublié ce que j'ai dit
Je ne garde pas ça à la maison
Olvidé lo que dije
No guardo rencor
Ho dimenticato quello che ho detto
Ik ben vergeten wat ik zei
我忘了带伞
忘れ物をした
The wifi network is called Fox5G
The wifi code is on the router
La clave es la constancia
Secret Santa budget: $25
Plants tomato seeds in March
Her license plate is B-IN 4711
hashed_password = generate_password_hash(form.password.data)
app.config['SECRET_KEY'] = os.environ.get('SECRET_KEY')
api_key=your_api_key_here
@app.route("/login", methods=["GET", "POST"])
from flask_login import login_user, current_user
- **Password Hashing**: Use a library
my credentials are in the vault
""".strip().splitlines(),
)


def kind_and_rule(text: str) -> tuple[str, str] | None:
    found = refusal(text)
    return (found.kind, found.rule) if found else None


@pytest.mark.parametrize(("text", "rule"), CREDENTIALS.items())
def test_credentials_are_refused(text: str, rule: str) -> None:
    assert kind_and_rule(text) == ("credential", rule)
    assert refusal(f"Ines told me this last week.\n{text}")


@pytest.mark.parametrize("text", REFUSED)
def test_other_wordings_are_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(("text", "rule"), FINANCIAL.items())
def test_financial_details_are_refused(text: str, rule: str) -> None:
    assert kind_and_rule(text) == ("financial", rule)


@pytest.mark.parametrize("text", ASKED)
def test_what_is_asked_not_to_be_remembered_is_refused(text: str) -> None:
    found = refusal(text)
    assert found
    assert found.kind == "asked"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_memories_are_kept(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "My ｐａｓｓｗｏｒｄ is ｈｕｎｔｅｒ２",
        "My pass\u200bword is hun\u200dter2",
        "My pass\u00adword\ufeff is hunter2",
        "My p\u0430ssw\u043erd is hunter2",
        "My pa\u0301ssword is hunter2",
        "My pass\x00word is hunter2",
        "My\u00a0password\u2003is\u3000hunter2",
        "My password is “hunter2”",
        "My \U0001d429\U0001d41a\U0001d42c\U0001d42c\U0001d430\U0001d428\U0001d42b\U0001d41d is hunter2",
        "My p\u2060a\u2060s\u2060s\u2060w\u2060o\u2060r\u2060d is hunter2",
        CARD.translate({ord("0") + n: 0xFF10 + n for n in range(10)}),
        CARD.translate({ord("0") + n: 0x0660 + n for n in range(10)}),
        CARD.replace(" ", "\u200b"),
        CARD.replace(" ", "\u2011"),
        "Please don\u2019t reme\u200bmber this",
    ],
)
def test_characters_that_hide_a_secret_are_seen_through(text: str) -> None:
    assert refusal(text)


def test_the_plain_form_keeps_the_letters_of_other_scripts() -> None:
    assert plain("パスワード ガ 비밀번호 пароль ١٢") == "パスワード ガ 비밀번호 пароль 12"


def test_a_refusal_never_holds_the_secret() -> None:
    for text in (*CREDENTIALS, *FINANCIAL, *ASKED):
        found = repr(refusal(text))
        assert WORD not in found
        assert "4711" not in found
        assert len(found) < 70


@pytest.mark.parametrize(
    "fields",
    [
        {"text": f"My password is {WORD}"},
        {"slot": f"ines|password|{WORD}"},
        {"text": "swordfish", "slot": "ines|password|"},
        {"source": f"chat with password={WORD}"},
        {"metadata": {"password": "swordfish"}},
        {"metadata": {"userPassword": WORD}},
        {"metadata": {"db_password": WORD}},
        {"metadata": {"wifi": {"password": WORD}}},
        {"metadata": {"wifi": {"code": "4711abc"}}},
        {"metadata": {"passwords": ["x", WORD]}},
        {"metadata": {"deep": [[{"note": f"my password is {WORD}"}]]}},
        {"metadata": {f"password: {WORD}": 1}},
        {"metadata": {"name": "password", "value": WORD}},
        {"metadata": {"pin": 4711}},
        {"metadata": {"number": int(CARD.replace(" ", ""))}},
        {"metadata": {"parts": ["4111 1111", "1111 1111"]}},
        {"metadata": {"iban": IBAN}},
        {"metadata": {"token": MIXED}},
        {"metadata": {"note": "please don't remember this"}},
    ],
)
def test_every_part_of_a_candidate_is_read(fields: dict[str, Any]) -> None:
    assert refusal_of(Candidate(**{"text": "Ines likes tea", **fields}))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"slot": "ines|employer|since 2024", "source": "chat-12"},
        {"text": "Ines changed her password in May", "slot": "ines|password|"},
        {"metadata": {"tags": ["tea", "oat milk"], "year": 2024, "share": 0.25, "ok": True, "none": None}},
        {
            "metadata": {
                "token_count": 512,
                "page": {"key": "introduction"},
                "id": "550e8400-e29b-41d4-a716-446655440000",
            }
        },
        {"metadata": {"code": "4711", "order": "30219384756"}},
    ],
)
def test_an_ordinary_candidate_is_kept(fields: dict[str, Any]) -> None:
    assert (
        refusal_of(Candidate(**{"text": "Ines likes tea", "valid_from": datetime(2024, 3, 1, tzinfo=UTC), **fields}))
        is None
    )


def test_deep_and_circular_metadata_end() -> None:
    deep: list[Any] = [f"my password is {WORD}"]
    for _ in range(10_000):
        deep = [deep]
    assert refusal_of(Candidate("tea", metadata={"a": deep})) == Refusal("credential", "password")
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert refusal_of(Candidate("tea", metadata=circle)) is None


def test_a_withheld_turn_is_not_withheld_again() -> None:
    assert refusal("My password is [withheld: credential]") is None
    assert refusal("password: ********") is None


def test_a_secret_is_found_wherever_a_long_text_has_it() -> None:
    for before in (0, 390, 400, 410, 590, 600, 2_000):
        assert refusal(f"{'tea. ' * before}my password is {WORD}{' tea.' * 900}")
    assert refusal("x" * 20_000 + f" password={WORD}")
    assert refusal("tea. " * 5_000) is None


@pytest.mark.parametrize(
    "piece", ["password ", "1 ", "a1 ", "my pin ", "don't ", "DE89 ", "word ", "://a:", "eyJ", "sk-", "-a"]
)
def test_long_texts_take_no_more_than_their_length(piece: str) -> None:
    text = piece * (30_000 // len(piece))
    assert refusal(text) == refusal(text[:6_000])
