"""Templates in the manner of chat models, with conversations: (name, template, inputs)."""

WEATHER = {"type": "function", "function": {"name": "weather", "description": "Weather <now>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}, "required": ["city"]}}}
SHORT = [{"role": "user", "content": "Hi é"}, {"role": "assistant", "content": "Hello 猫!"}]
LONG = [{"role": "system", "content": " Be brief.\n"}, *SHORT, {"role": "user", "content": "  And 2+2? "}, {"role": "assistant", "content": "4\n"}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "image"}, {"type": "text", "text": "this?"}]}]
TOOLS = [{"role": "user", "content": "Weather?"},
         {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2}}}]},
         {"role": "tool", "name": "weather", "content": "{\"t\": 21.5}"}, {"role": "assistant", "content": "<think>\nwarm\n</think>\n\n21.5 degrees"}]
NAMES = {"bos_token": "<s>", "eos_token": "</s>"}


def chats(*conversations, **more):
    return [{"messages": messages, "tools": None, "documents": None, "add_generation_prompt": prompt, **NAMES, **more}
            for messages in conversations for prompt in (False, True)]


CONVERSATIONS = [
    ("turns between markers", """\
{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|begin|>system\\nYou help.<|end|>\\n' }}{% endif %}\
{{'<|begin|>' + message['role'] + '\\n' + message['content'] + '<|end|>' + '\\n'}}{% endfor %}\
{% if add_generation_prompt %}{{ '<|begin|>assistant\\n' }}{% endif %}
""", chats(SHORT, LONG)),
    ("turns in brackets that alternate", """\
{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}{% set rest = messages[1:] %}\
{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}
{% for message in rest %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Turns must alternate: user, assistant, ...') }}
    {%- endif -%}
    {%- if loop.first and system %}{% set content = '<<S>>\\n' + system + '\\n<</S>>\\n\\n' + message.content %}{% else %}{% set content = message.content %}{% endif -%}
    {%- if message.role == 'user' %}{{ '[I] ' + content.strip() + ' [/I]' }}
    {%- elif message.role == 'assistant' %}{% generation %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endgeneration %}
    {%- endif -%}
{% endfor %}
""", chats(SHORT, LONG, SHORT + SHORT, SHORT[1:], [])),
    ("blocks of generation", """\
{% for m in messages %}
{{ m.role | upper }}:
{% if m.role == 'assistant' %}
{% generation %}
{{ m.content }}{{ eos_token }}
{% set inner = 1 %}
{% endgeneration %}
{{ inner is defined }}
{% else %}
{{ m.content }}
{% endif %}
{% endfor %}
""", chats(LONG)),
    ("parts of a message", """\
{%- macro content_of(content) -%}
    {%- if content is string -%}{{ content }}
    {%- elif content is iterable and content is not mapping -%}
        {%- for part in content -%}
            {%- if part.type == 'image' or 'image' in part -%}<image>
            {%- elif 'text' in part -%}{{ part.text }}
            {%- else -%}{{ raise_exception('Unknown part') }}
            {%- endif -%}
        {%- endfor -%}
    {%- elif content is none or content is undefined -%}
    {%- else -%}{{ raise_exception('Unknown content') }}{%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(images=0, last_user=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last_user = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages %}
{{- '<turn>' ~ m.role ~ '\\n' ~ content_of(m.content) ~ ('*' if loop.index0 == ns.last_user else '') ~ '</turn>\\n' }}
{%- endfor -%}
""", chats(SHORT, PARTS, TOOLS, [{"role": "user", "content": 3}], [{"role": "user", "content": [{"type": "sound"}]}])),
    ("tools and reasoning", """\
{%- if tools %}
    {{- 'Tools:\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson }}
        {{- "\\n" }}
        {%- for name, spec in tool.function.parameters.properties | items %}
            {{- name ~ (' (required)' if name in tool.function.parameters.required) ~ ': ' ~ spec.type }}
            {{- '=' ~ spec.default if spec.default is defined else '' }}{{ "; " if not loop.last }}
        {%- endfor %}
    {%- endfor %}
    {{- '\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|a|>' }}
        {%- generation %}
        {%- if loop.index0 > ns.last and reasoning %}{{ '<think>' + reasoning + '</think>' }}{%- endif %}
        {{- content }}
        {%- for call in message.tool_calls or [] %}
            {%- if call.function %}{%- set call = call.function %}{%- endif %}
            {{- '{"name": "' ~ call.name ~ '", "arguments": ' }}
            {%- if call.arguments is string %}{{ call.arguments }}{%- else %}{{ call.arguments | tojson }}{%- endif %}
            {{- '}' }}
        {%- endfor %}
        {{- '<|end|>' }}
        {%- endgeneration %}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}{{ '<|tools|>' }}{%- endif %}
        {{- content }}
        {%- if loop.last or loop.nextitem.role != "tool" %}{{ '<|end|>' }}{%- endif %}
    {%- else %}
        {{- '<|' ~ message.role[0] ~ '|>' ~ content ~ '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|a|>' }}{% if enable_thinking is defined and enable_thinking is false %}{{ '<think></think>' }}{% endif %}{% endif %}
""", chats(SHORT, TOOLS, tools=[WEATHER]) + chats(LONG, enable_thinking=False)),
    ("a date and a default system text", """\
{{- bos_token }}
{%- if not date_string is defined %}{% if strftime_now is defined %}{% set date_string = strftime_now("%d %b %Y") %}{% else %}{% set date_string = "26 Jul 2024" %}{% endif %}{% endif %}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|h|>system<|/h|>\\n\\nToday: " + date_string + "\\n\\n" + system_message + "<|eot|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|h|>' + message['role'] + '<|/h|>\\n\\n'+ message['content'] | trim + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("One call at a time") }}{%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- tool_call.name + "(" }}{% for name, value in tool_call.arguments | items %}{{ name + '="' ~ value ~ '"' }}{% if not loop.last %}, {% endif %}{% endfor %}{{ ")" }}
    {%- else %}
        {{- message.content | tojson if message.content is mapping or message.content is iterable else message.content }}
    {%- endif %}
{%- endfor %}
""", chats(SHORT, LONG, TOOLS, [])),
]
