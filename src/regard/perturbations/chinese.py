"""Tables of easily confused Chinese characters, by shape and by sound.

Characters of a group are interchangeable; for a character in several groups the first counts. No group contains
negations (不, 没, 无, 非), opposites (买 and 卖) or characters that add a judgement (还 and 坏): a noise must not
reverse the meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed

_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
SCALE = "5, 10, 15, 20, 30 % of the Chinese characters, at least one"
MISLEADS = "the table is small: characters outside it never change; a text without Chinese stays as it is"

LOOK_ALIKE = (
    "己已巳 未末 土士 日曰 人入八 大太犬 天夫 干千于 戊戌戍 间问闻 今令 候侯 晴睛 清请情 洒酒 拔拨 折拆析 "
    "免兔 见贝 儿几九 刀力 木本 王玉主 目且 田由甲申电 石右 白百自 鸟乌 从丛 代伐 住往 使便 很狠恨 快块 "
    "跟根 喝渴 蓝篮 辩辨 历厉 困因 处外 她他 休体 话活 知和 幸辛 孩该 学字 师帅 乐东 万方 午牛 半平 名各 "
    "周同 明朋 爱受 真直 眼跟 材村 杆杠 抢枪 侍待 持特 泪汨 汗汁 冰水 永木 少小 手毛 风凤 仓仑 渐惭 慢漫 幔馒 "
    "班斑 遣遗 竟竞 暑署 栗粟 茶荼 盲肓 芒茫 博搏 崇祟 戴载 徒徙 缓援 暖缓 滩难 准淮 冷泠 凉谅 兄只 可司 史吏 "
    "央英 失矢 年午 有冇 看着 这过 进近 远选 片斤 剧据 影景 音章 戏戌 演寅 员贝 场杨 好奶 妹妺 始姑 的灼 是足 "
    "了子 上止 个介 们闪 来米 到倒 时付 地他 说悦 高离 兴光 喜嘉 欢炊 常堂 感惑 觉党 故放 事争 精情 彩影 "
    "棒捧 差羞 烂拦 聊柳 值植 得碍 "
)
SOUND_ALIKE = (
    "的地得 在再 做作座 他她它 是事世市式 有又友 和合河 这着 那哪 以已意易 为位卫 里理李 后候厚 近进尽 像向象 "
    "到道倒 会汇惠 电店殿 影应英 好号 高告 心新辛 情清请轻 时十实石 间见件 长常场 工公功 方房放 名明 生声升 "
    "成城程 期其奇 家加佳 今金斤 天田 气汽 动懂 喜西希 音因阴 欢环 听厅 书输叔 话画花 想响 棒帮 "
    "差叉 剧据句 感敢 觉决绝 演眼 员原元圆 导岛 故古固 精经睛 彩才材 烂蓝兰 值直植 德地 去趣 人仁 年黏 出初 "
    "过锅 看刊 起启 还孩 两俩 面免 都督 多朵 中钟终 国果 大达 小晓 来莱 可渴 们门 我卧 你尼 说硕 学雪 用永 "
    "前钱 所锁 分份 对队 法发 老姥 师诗 片偏 戏系 星兴 强墙 最醉 完玩 全权 真珍 正证 与雨 坏怀 美镁 丑臭 笑校 "
    "哭苦 部步 次刺 第弟 集级 让壤 给几 被备 把吧 比笔 更耕 常尝 三叁 十食 几己 三山 "
)


def groups(table: str) -> dict[str, str]:
    """Map each character to the others of its group; the first group wins."""
    by_character: dict[str, str] = {}
    for group in table.split():
        for char in group:
            others = "".join(other for other in group if other != char)
            if others:
                by_character.setdefault(char, others)
    return by_character


def exchanged(example: Example, severity: int, rng: Stream, others: Mapping[str, str]) -> Perturbed:
    """Replace some Chinese characters by one of `others`; each character is a word, so positions stay."""
    script = Script.of(example)
    able = [w for w, word in enumerate(script.words) if word in others]
    han = sum("\u4e00" <= word[0] <= "\u9fff" for word in script.words)
    changes = {}
    for w in chosen(able, severity, rng, han, _SHARES):
        instead = others[script.words[w]]
        changes[w] = instead[rng.below(len(instead))]
    return script.with_words(changes)
