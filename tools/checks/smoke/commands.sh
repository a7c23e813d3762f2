# Commands of the installed packages, under `loyalty-cards exec`.
PATH="$PWD/node_modules/.bin:$PATH"
loyalty-cards-mock --help
loyalty-cards --version
loyalty-cards doctor
loyalty-cards issue --user-id 7 --privacy 2026-01 --phone +48600100200 --json
printf 'userId,phone\n8,+48600100201\n9,+48600100202\n' > members.csv
loyalty-cards import members.csv --privacy 2026-01 --yes
test "$(wc -l < members.cards.csv)" -eq 3
rm members.*
printf '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00Z","data":{}}' > event.json
export LOYALTY_SIGNING_SECRET=whsec_test
loyalty-cards webhook verify --body event.json --signature "$(loyalty-cards webhook sign --body event.json)"
