"""A vision model small enough for a test, made on the spot: Llava over a tiny CLIP and a tiny Qwen2, random weights."""

import string
from pathlib import Path

import torch
from datasets import Dataset
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

COLOUR = (0xD1, 0x5E, 0xA5)  # of every image, so that its bytes can be looked for
SIDE, PATCH = 16, 8  # pixels of an image for the model, and of one of its patches
SIZES = ((37, 23), (64, 48), (20, 90), (51, 51))  # of the images that prompts bring, width by height
CHAT = (
    "{% for message in messages %}{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}"
)


def processor() -> LlavaProcessor:
    """One token a printable character, and pictures in patches."""
    special = ["[P]", "[B]", "[E]", "[U]", "<image>"]
    vocabulary = {token: place for place, token in enumerate([*special, *string.printable])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[U]"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"<image>|[\s\S]"), behavior="isolated")
    core.decoder = decoders.Fuse()
    names = {"pad_token": "[P]", "bos_token": "[B]", "eos_token": "[E]", "unk_token": "[U]"}
    tokens = PreTrainedTokenizerFast(
        tokenizer_object=core, padding_side="left", additional_special_tokens=["<image>"], **names
    )
    pictures = CLIPImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, crop_size={"height": SIDE, "width": SIDE}, do_center_crop=False
    )
    return LlavaProcessor(
        image_processor=pictures,
        tokenizer=tokens,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=CHAT,
    )


def saved(folder: Path) -> LlavaForConditionalGeneration:
    """The model, read from the folder that trainers read their reference from; its weights are the same each time."""
    torch.manual_seed(0)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = Qwen2Config(
        vocab_size=len(string.printable) + 5,
        **small,
        num_key_value_heads=1,
        max_position_embeddings=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    eyes = CLIPVisionConfig(**small, image_size=SIDE, patch_size=PATCH, projection_dim=32)
    config = LlavaConfig(vision_config=eyes, text_config=text, image_token_index=4, vision_feature_layer=-1)
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    return LlavaForConditionalGeneration.from_pretrained(folder)


def pictures() -> list[Image.Image]:
    """One image of each size."""
    return [Image.new("RGB", size, COLOUR) for size in SIZES]


def pages() -> list[Image.Image]:
    """Two images of one size that differ in one pixel, then the first one again, decoded anew."""
    first, second = (Image.new("RGB", SIZES[0], COLOUR) for _ in range(2))
    second.putpixel((5, 5), (0, 0, 0))
    return [first, second, first.copy()]


def questions() -> Dataset:
    """A prompt with one image each, in the form that TRL's vision data sets have."""
    asked = [[{"role": "user", "content": "What is it?"}] for _ in SIZES]
    return Dataset.from_dict({"prompt": asked, "image": pictures()})
