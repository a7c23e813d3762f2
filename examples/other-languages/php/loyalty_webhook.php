<?php

/** Verifies webhooks of the Loyalty Card Issuing Service, with the standard library only. PHP 8. */

declare(strict_types=1);

/** The message is the reason: log it, and do not send it in the response. */
class Rejected extends Exception
{
}

/** Returns the event. During a rotation there are two secrets. */
function verify(
    string $body,
    ?string $header,
    array $secrets,
    ?int $now = null,
    float $tolerance = 300,
): array {
    if ($secrets === [] || in_array('', $secrets, true)) {
        throw new InvalidArgumentException('The signing secret is empty.');
    }
    if ($header === null || $header === '') {
        throw new Rejected('missing-signature');
    }
    $parts = preg_split('/,[ \t]*/', $header);
    $timestamp = implode(',', preg_filter('/^t=/', '', $parts));
    $signatures = preg_filter('/^v1=/', '', $parts);
    $isWellFormed = strlen($header) <= 1024
        && preg_grep('/^[^=]+=/', $parts) === $parts
        && preg_match('/^[0-9]{1,12}$/D', $timestamp)
        && preg_match('/^[0-9a-f]{64}(,[0-9a-f]{64}){0,4}$/Di', implode(',', $signatures));
    if (!$isWellFormed) {
        throw new Rejected('malformed-signature');
    }
    $age = ($now ?? time()) - (int) $timestamp;
    if (abs($age) > $tolerance) {
        throw new Rejected($age > 0 ? 'stale' : 'future');
    }
    $matches = 0; // all are compared, so that the time does not depend on which one matches
    foreach ($secrets as $secret) {
        $expected = hash_hmac('sha256', "$timestamp.$body", $secret);
        foreach ($signatures as $signature) {
            $matches += (int) hash_equals($expected, strtolower($signature));
        }
    }
    return $matches > 0 ? readEvent($body) : throw new Rejected('mismatch');
}

/** Returns the event of a verified body. */
function readEvent(string $body): array
{
    // json_decode rejects JSON with half of a surrogate pair. Replaced by a NUL,
    // it is rejected below only where it matters.
    $json = preg_replace_callback(
        '/\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}|\\\\u(d[89a-f][0-9a-f]{2})|\\\\./i',
        fn ($match) => isset($match[1]) ? '\u0000' : $match[0],
        preg_replace('/^\xEF\xBB\xBF/', '', $body),
    );
    $event = json_decode($json, true, 4096);
    foreach (['id', 'type', 'createdAt'] as $name) {
        if (!is_string($event[$name] ?? null) || str_contains($event[$name], "\0")) {
            throw new Rejected('invalid-payload');
        }
    }
    $length = strlen(iconv('UTF-8', 'UTF-16LE', $event['id'])) / 2;
    return $length >= 1 && $length <= 512 ? $event : throw new Rejected('invalid-payload');
}
